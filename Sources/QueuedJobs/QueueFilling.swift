#if Queue
import WarmJobs
import Glibc
import ImageDownloading
import ImagePrimitives
import ImageURLs
import Manifests
import Reports
import WorkQueues

/// Puts the entries of a job's manifests into a queue, in the job's order, so that an interrupted filling can be resumed.
struct QueueFilling {
  /// Entries that are read in one step.
  private static let batchEntryCount = 4096

  let job: Job
  let manifests: JobManifests
  let writer: QueueWriter
  let control: RunControl
  /// Called after each batch with the number of entries read so far.
  let progressed: (UInt64) -> Void

  /// Reads all manifests into the queue, and seals it. An error in a manifest ends the reading, as in a run, and
  /// workers process the entries before it. If nothing was read, the queue stays unsealed, so that the next attempt
  /// resumes it.
  func fill() throws(QueueJobError) -> (QueueSize, ListRemarks) {
    var batch = EntryBatch()
    var read: UInt64 = 0
    var named = 0
    var status = ManifestReader.Status.more
    var remarks = ListRemarks()
    while status != .end, remarks.breakage == nil {
      if control.signal != nil { throw .interrupted }
      batch.removeAll()
      do throws(ManifestError) {
        status = try manifests.reader.nextAvailable(&batch, maximum: Self.batchEntryCount)
      } catch {
        if read == 0, batch.entries.isEmpty { throw .job(.manifest(error)) }
        remarks.breakage = "\(error)"
      }
      // Messages have URLs only, and workers would report other images as good.
      if let index = batch.entries.indices.first(where: { batch.note($0)?.expectation != nil }) {
        throw .expectations(manifest: manifests.reader.manifestNames[Int(batch.entries[index].source)])
      }
      do throws(QueueError) {
        try name(&named)
        if named <= DetailedRows.maximumManifests { try append(batch) }
      } catch {
        throw error == .interrupted ? .interrupted : .queue(error)
      }
      guard named <= DetailedRows.maximumManifests else { throw .tooManyManifests(DetailedRows.maximumManifests) }
      read += UInt64(batch.entries.count)
      progressed(read)
      if status == .waiting, remarks.breakage == nil { wait() }
    }
    remarks.warnings = manifests.reader.warnings
    do throws(QueueError) {
      return (try writer.seal(remarks), remarks)
    } catch {
      throw error == .interrupted ? .interrupted : .queue(error)
    }
  }

  /// Writes the names of further manifests, before any of their entries.
  private func name(_ named: inout Int) throws(QueueError) {
    let names = manifests.reader.manifestNames
    let new = named..<min(names.count, DetailedRows.maximumManifests + 1)
    guard !new.isEmpty else { return }
    let described = new.map { index in
      QueuedManifest(name: names[index], file: manifests.reader.file(ofManifest: index, jobFile: job.absoluteFile))
    }
    try writer.add(described, from: named)
    named = new.upperBound
  }

  private func append(_ batch: EntryBatch) throws(QueueError) {
    try batch.bytes.withRawBytes { bytes throws(QueueError) in
      for entry in batch.entries {
        let written = UnsafeRawBufferPointer(rebasing: bytes[entry.writtenRange])
        let host = UnsafeRawBufferPointer(rebasing: bytes[entry.hostRange])
        switch entry.state {
        case .good: try append(entry, written, .good, host: host)
        // These URLs are only shown, so they need no credentials.
        case .filtered: try appendShown(entry, written, .filtered, host: host)
        case .invalid(let message):
          try appendShown(entry, written, .invalid(sentence: batch.messages[Int(message)]), host: host)
        }
      }
    }
  }

  private func appendShown(
    _ entry: BatchEntry,
    _ written: UnsafeRawBufferPointer,
    _ state: NewQueuedEntry.State,
    host: UnsafeRawBufferPointer
  ) throws(QueueError) {
    guard holdsCredentials(written) else { return try append(entry, written, state, host: host) }
    try maskingCredentials(written).withRawBytes { shown throws(QueueError) in try append(entry, shown, state, host: host) }
  }

  private func append(
    _ entry: BatchEntry,
    _ url: UnsafeRawBufferPointer,
    _ state: NewQueuedEntry.State,
    host: UnsafeRawBufferPointer
  ) throws(QueueError) {
    let row = NewQueuedEntry(url: url, manifest: entry.source, line: entry.line, state: state)
    try writer.append(row, host: host, priority: entry.priority)
  }

  /// Waits for a pipe or a fetched manifest, briefly, so that signals are noticed.
  private func wait() {
    guard let descriptor = manifests.reader.waitDescriptor else { return }
    var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&polled, 1, 100)
  }
}
#endif
