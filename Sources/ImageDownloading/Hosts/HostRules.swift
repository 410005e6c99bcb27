/// What holds for each host.
package struct HostRules {
  var perHost: Int
  var pace = PaceRule()
  var isAdaptive = false
  var breaker = CircuitBreaker()

  /// Between two starts; zero without a rate.
  package var intervalNanoseconds: UInt64 {
    get { pace.intervalNanoseconds }
    set { pace.intervalNanoseconds = newValue }
  }
}
