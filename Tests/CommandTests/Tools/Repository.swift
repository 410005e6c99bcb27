import TestSupport

/// The repository that the tests stand in.
enum Repository {
  static let path = String(Fixtures.directory.dropLast("/Tests/Fixtures".count))
}
