import ImageDownloading
import ImagePrimitives

extension DownloaderStatistics {
  /// Which host is left alone right now, such as `img.example.com paused 12 s (429)`: the one that rests longest, and how many others do;
  /// nil where none is.
  var pauseNote: String? {
    guard let longest = pausedHosts.max(by: { $0.remaining < $1.remaining }) else { return nil }
    let seconds = Int64(longest.remaining.inSeconds.rounded(.up))
    let reason = longest.status.map(String.init) ?? "it only fails"
    let others = pausedHosts.count - 1
    return "\(longest.host) paused \(seconds) s (\(reason))" + (others > 0 ? " and \(others) more" : "")
  }
}
