/// Where the control group of this process lies, by what the system says of it.
enum ControlGroup {
  /// The folder of the process's group in the unified hierarchy (cgroup v2); nil where it has none that is mounted.
  ///
  /// - Parameters:
  ///   - membership: The text of `/proc/self/cgroup`, where the line `0::/PATH` is the unified hierarchy's (cgroups(7)).
  ///   - mounts: The text of `/proc/self/mountinfo` (proc(5)): fields 4 and 5 are the folder of the hierarchy that is mounted, which in a
  ///     container need not be its root, and the mount point; behind a lone dash comes the file system's type.
  static func folder(membership: String, mounts: String) -> String? {
    guard let line = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
    let group = line.dropFirst("0::".count)
    for mount in mounts.split(separator: "\n") {
      let fields = mount.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), dash >= 6, dash + 1 < fields.count, fields[dash + 1] == "cgroup2" else {
        continue
      }
      guard let path = path(of: group, below: fields[3]) else { continue }
      return (String(fields[4]) + path).dropSlashes
    }
    return nil
  }

  /// What is left of `group` below `root`; nil where it lies elsewhere.
  private static func path(of group: Substring, below root: Substring) -> Substring? {
    if root == "/" { return group }
    guard group.hasPrefix(root) else { return nil }
    let rest = group.dropFirst(root.count)
    return rest.isEmpty || rest.hasPrefix("/") ? rest : nil
  }
}

extension String {
  /// Without slashes at its end.
  fileprivate var dropSlashes: String {
    var text = self[...]
    while text.last == "/" { text = text.dropLast() }
    return String(text)
  }
}
