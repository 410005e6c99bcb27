/// The path of a file as the repository in the folder `workspace` names it; nil where it lies elsewhere, or no folder is known.
///
/// Both are absolute.
func pathInWorkspace(_ file: String, _ workspace: String?) -> String? {
  guard var folder = workspace, !folder.isEmpty else { return nil }
  if !folder.hasSuffix("/") { folder += "/" }
  guard file.hasPrefix(folder), file.utf8.count > folder.utf8.count else { return nil }
  let path = file.dropFirst(folder.count)
  return path.split(separator: "/").contains("..") ? nil : String(path)
}
