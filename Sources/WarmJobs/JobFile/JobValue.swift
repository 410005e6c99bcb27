internal import ImageDownloading
internal import ImageURLs
internal import Manifests

/// The value of a key, read and checked by its ``JobValueType``; a ``JobCodec`` makes an option of it.
indirect enum JobValue: Sendable {
  /// A choice, or a word that stands for a value.
  case word(String)
  case text(String)
  case path(JobPath)
  case webURL(BaseURL)
  case pattern(URLPattern)
  case boolean(Bool)
  /// A count, bytes or pixels.
  case integer(Int)
  case duration(Duration)
  /// 0 to 1.
  case fraction(Double)
  case ranges([ClosedRange<Int>])
  case headers([Job.Request.Header])
  /// A second.
  case rate(Double)
  case hostAndPort(host: String, port: Int)
  case connectTarget(DownloadOptions.ConnectTarget)
  case mapping([(name: String, value: JobValue)])
  /// The items, each with its line, counted from 1.
  case list([(value: JobValue, line: Int)])
}
