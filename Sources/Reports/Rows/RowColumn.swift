/// The columns of a row, in their order; unknown values are omitted or empty, depending on the form.
enum RowColumn: CaseIterable {
  case url, manifest, line, priority, outcome, kind, status, bytes, format, width, height, attempts, duration, remoteCache
  case message, storedBytes, shared, variant, edge, finalURL, contentType, bodyHash, warnings
  case transient, known, profile, orientation, gps, dpi
  case id, element, attribute, pages, lint
  case transformedBytes, transformedFormat, transformedWidth, transformedHeight, transformedHash, shard, repeated

  @inline(__always)
  var name: StaticString {
    switch self {
    case .url: "url"
    case .manifest: "manifest"
    case .line: "line"
    case .priority: "priority"
    case .outcome: "outcome"
    case .kind: "kind"
    case .status: "status"
    case .bytes: "bytes"
    case .format: "format"
    case .width: "width"
    case .height: "height"
    case .attempts: "attempts"
    case .duration: "duration_ms"
    case .remoteCache: "remote_cache"
    case .message: "message"
    case .storedBytes: "stored_bytes"
    case .shared: "shared"
    case .variant: "variant"
    case .edge: "edge"
    case .finalURL: "final_url"
    case .contentType: "content_type"
    case .bodyHash: "body_hash"
    case .warnings: "warnings"
    case .transient: "transient"
    case .known: "known"
    case .profile: "profile"
    case .orientation: "orientation"
    case .gps: "gps"
    case .dpi: "dpi"
    case .id: "id"
    case .element: "element"
    case .attribute: "attribute"
    case .pages: "pages"
    case .lint: "lint"
    case .transformedBytes: "transformed_bytes"
    case .transformedFormat: "transformed_format"
    case .transformedWidth: "transformed_width"
    case .transformedHeight: "transformed_height"
    case .transformedHash: "transformed_hash"
    case .shard: "shard"
    case .repeated: "repeated"
    }
  }
}
