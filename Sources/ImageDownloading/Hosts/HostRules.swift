/// What holds for each host.
package struct HostRules {
  var perHost: Int
  /// Between two starts; zero without a rate.
  package var intervalNanoseconds: UInt64 = 0
  var isAdaptive = false
  var breaker = CircuitBreaker()
}
