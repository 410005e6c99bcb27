import TestSupport

/// The repository of the tests.
enum Repository {
  static let path = String(Fixtures.directory.dropLast("/Tests/Fixtures".count))
}
