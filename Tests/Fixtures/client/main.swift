// A program over the library: loads the image at the first URL and prefetches the others, into a cache in a folder.
// Usage: client FOLDER URL URL…
import Foundation
import InMemoryLogging
import Logging
import MetricsTestKit
import PrewarmImages
import PrewarmObserving

guard CommandLine.arguments.count > 2 else { fatalError("usage: client FOLDER URL URL…") }
let urls = CommandLine.arguments[2...]

let cache = try ImageCache(ImageCache.Configuration(directory: CommandLine.arguments[1]))
let log = InMemoryLogHandler()
var logger = Logger(label: "images") { _ in log }
logger.logLevel = .debug
let metrics = TestMetrics()
let manager = try ImageManager(
  ImageManager.Configuration(
    cache: cache,
    memory: ImageMemory(),
    observers: [.logging(to: logger), .metrics(factory: metrics)]
  )
)

guard let first = URL(string: urls[2]) else { fatalError("\(urls[2]) is no URL") }
let response = try await manager.response(for: first)
if let image = response.image, let source = response.source {
  print("\(image.pixels.size.width) x \(image.pixels.size.height) pixels, \(response.result.bytes) bytes from \(source)")
}

let result = try await ImagePrefetcher(manager: manager).prefetch(urls: urls.dropFirst()).value
print("prefetched: \(result.loaded) loaded, \(result.alreadyCached) there already, \(result.failed) failed")

await manager.shutDown()
let totals = try await cache.asynchronous.totals()
print("cached: \(totals.entries) images, \(totals.bodyBytes) bytes")

// The guide's first example, in a cache folder of its own.
setenv("PREWARM_CACHE_DIR", CommandLine.arguments[1] + "-own", 1)
_ = try await gettingStarted(url: urls[2])

let messages = log.entries.filter { $0.metadata["url"] == "\(first)" }.map { "\($0.message)" }
print("logged: \(messages.joined(separator: ", "))")
let loads = ["downloaded", "hit-disk"].map {
  "\(metrics.counterTotal(label: "prewarm_loads", dimensions: [("outcome", $0)])) \($0)"
}
print("counted: \(loads.joined(separator: ", ")), \(metrics.counterTotal(label: "prewarm_received_bytes")) bytes")
