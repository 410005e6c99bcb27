/// What holds for each host.
struct HostRules {
  var perHost: Int
  /// Between two starts; zero without a rate.
  var intervalNanoseconds: UInt64 = 0
  var isAdaptive = false
  var breaker = CircuitBreaker()
}
