/// The version of prewarm, for reports and the `User-Agent` field.
public enum PrewarmVersion {
  /// By semantic versioning.
  public static let current = "0.1.0"
}
