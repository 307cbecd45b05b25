#include "replay/analysis/comm_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "replay/analysis/skew.h"

namespace simmesh::replay {

namespace {

struct RowFigures {
  std::vector<double> lengths_us;
  std::vector<double> busbws;
  std::set<std::uint32_t> groups;
  std::optional<double> wait_us = 0;
};

// busbw_by_comm returns the bandwidths by rank and communication; 0 where there is none.
std::vector<std::vector<double>> busbw_by_comm(const JobTimeline& job,
                                               const std::vector<JobCollective>& collectives) {
  std::vector<RankBandwidth> bandwidths = bandwidth_of(job, collectives);
  std::vector<std::vector<double>> busbw;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    busbw.emplace_back(job.ranks[r].comms.size());
    for (const CommBandwidth& one : bandwidths[r].comms) busbw[r][one.comm] = one.busbw;
  }
  return busbw;
}

}  // namespace

Spread spread_of(std::vector<double> figures) {
  if (figures.empty()) return {};
  std::sort(figures.begin(), figures.end());
  auto percentile = [&](double percent) {
    double place = percent / 100 * double(figures.size() - 1);
    auto below = std::size_t(std::floor(place));
    std::size_t above = std::min(below + 1, figures.size() - 1);
    return figures[below] + (place - double(below)) * (figures[above] - figures[below]);
  };
  return {.mean = std::accumulate(figures.begin(), figures.end(), 0.0) / double(figures.size()),
          .p1 = percentile(1),
          .p50 = percentile(50),
          .p90 = percentile(90),
          .p99 = percentile(99)};
}

std::vector<CommRow> comm_table(const JobTimeline& job,
                                const std::vector<JobCollective>& collectives) {
  std::vector<std::vector<double>> busbw = busbw_by_comm(job, collectives);
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::string>, RowFigures> rows;
  for (const CollectiveSkew& skew : skew_of(job, collectives).collectives)
    for (const PartSkew& part : skew.parts) {
      const TimelineComm& comm = comm_of(job, part.part);
      RowFigures& row =
          rows[{comm.name, std::max(comm.in_elements, comm.out_elements) * comm.item_bytes,
                comm.group_size, std::string(kernel_name(job, part.part))}];
      row.lengths_us.push_back(part.length_us);
      row.busbws.push_back(busbw[part.part.rank][part.part.comm]);
      if (row.wait_us && part.wait_us)
        *row.wait_us += *part.wait_us;
      else
        row.wait_us.reset();
      if (comm.group) row.groups.insert(*comm.group);
    }
  std::vector<CommRow> table;
  for (auto& [key, row] : rows)
    table.push_back(
        {.kernel = std::get<3>(key),
         .name = std::get<0>(key),
         .bytes = std::get<1>(key),
         .group_size = std::get<2>(key),
         .groups = row.groups.size(),
         .count = row.lengths_us.size(),
         .length_us = spread_of(row.lengths_us),
         .busbw = spread_of(row.busbws),
         .wait_us = row.wait_us,
         .total_us = std::accumulate(row.lengths_us.begin(), row.lengths_us.end(), 0.0)});
  return table;
}

}  // namespace simmesh::replay
