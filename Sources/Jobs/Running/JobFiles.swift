import Glibc
import ImageCaching
import Lists
import Reports

/// The files and folders that runs use by name after their jobs were prepared; all else is open by then.
package struct JobFiles: Sendable {
  /// Read; of a folder, everything in it.
  package var read: [String] = []
  /// Files that are written in place.
  package var written: [String] = []
  /// Folders in which anything may change.
  package var changed: [String] = []
  /// Folders in which finished files get their names.
  package var named: [String] = []

  package init() {}
}

extension PreparedJob {
  /// Adds what its run uses.
  package func addFiles(to files: inout JobFiles) {
    for list in job.manifests.map(\.list) {
      switch list.source {
      // A page in a folder may be a link out of it.
      case .file(let path): files.read += [path] + list.files.filter(isLink)
      case .glob: files.read += list.files
      case .standardInput, .inline, .url: break
      }
    }
    let tls = job.request.tls
    files.read += [tls.caFile, tls.clientCertificate, tls.clientKey].compactMap { $0?.absolute }
    if let path = job.plannedEntries?.path { files.read.append(path) }
    if let cache { if writableCache == nil { files.read.append(cache.path) } else { files.changed.append(cache.path) } }
    files.read += readOnlyCaches.map(\.path)
    for case .file(let path) in reports.writers.isEmpty ? [] : job.reports.map(\.destination) {
      if let folder = ReportFile.namingFolder(path.absolute) { files.named.append(folder) }
    }
    if job.cache.memory != nil {
      files.written += MemoryPressureSources.system.stallFiles
      files.read += MemoryPressureSources.system.eventFiles
    }
  }
}

private func isLink(_ path: String) -> Bool {
  var status = stat()
  return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
}
