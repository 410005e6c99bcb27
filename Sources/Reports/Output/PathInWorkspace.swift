/// The path of a file as the repository in the folder `workspace` names it; nil where it lies elsewhere, or no folder is known.
///
/// Both are absolute.
func pathInWorkspace(_ file: String, _ workspace: String?) -> String? {
  guard var folder = workspace, !folder.isEmpty else { return nil }
  if folder.utf8.last != UInt8(ascii: "/") { folder += "/" }
  // By bytes: a name may begin with a character that joins the slash before it.
  guard file.utf8.starts(with: folder.utf8), file.utf8.count > folder.utf8.count else { return nil }
  let path = file.utf8.dropFirst(folder.utf8.count)
  guard !path.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) }) else { return nil }
  return String(decoding: path, as: UTF8.self)
}
