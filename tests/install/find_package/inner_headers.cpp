// Programs can't include headers of the libraries that aren't public: they would come to depend on
// them.
#if !__has_include(<simmesh/collectives/process_group.h>)
#error "expected the public headers"
#endif
#if __has_include(<simmesh/collectives/exchange.h>) || \
    __has_include(<simmesh/core/engine/run/run.h>) || \
    __has_include(<simmesh/sharding/propagation/dispatch.h>)
#error "expected no header that isn't public"
#endif
