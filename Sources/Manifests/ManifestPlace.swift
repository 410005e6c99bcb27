/// Where the entries of a manifest stand, for who points at their lines.
public enum ManifestPlace: Sendable, Hashable {
  /// In the file at that path.
  case file(String)
  /// In the job file.
  case inline
  /// In none that stays: standard input, or what was fetched.
  case elsewhere
}
