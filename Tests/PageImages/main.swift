// Prints the images of pages and of their stylesheets, for scripts/pages: page-images FOLDER ORIGIN <PATHS
//
// FOLDER has the files of ORIGIN, such as http://127.0.0.1:8000. Each line of the input is the path of a page. Each line of the output
// is the page's path, the URL of an image, and its element and attribute, separated by tabs.
import Glibc
import ImagePrimitives
import ImageURLs
import Manifests

let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: page-images FOLDER ORIGIN <PATHS") }
let folder = arguments[1]
let origin = arguments[2]

/// The bytes of the file behind a URL of the origin; nil if there is none.
func bytes(of url: String) -> [UInt8]? {
  guard url.hasPrefix(origin) else { return nil }
  let path = url.dropFirst(origin.count).prefix { $0 != "?" }
  guard let file = fopen(folder + decoded(path), "r") else { return nil }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var block = [UInt8](repeating: 0, count: 1 << 16)
  while case let count = fread(&block, 1, block.count, file), count > 0 { bytes += block[..<count] }
  return bytes
}

func decoded(_ path: Substring) -> String {
  var bytes: [UInt8] = []
  var rest = Array(path.utf8)[...]
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
      bytes.append(value)
      rest = rest.dropFirst(2)
    } else {
      bytes.append(byte)
    }
  }
  return String(decoding: bytes, as: UTF8.self)
}

func printNote(_ sentence: String) {
  let line = Array("\(sentence)\n".utf8)
  write(STDERR_FILENO, line, line.count)
}

func printImages(_ images: [PageImage], _ text: [UInt8], of page: String) {
  for image in images where image.problem == nil {
    print(page, String(decoding: text[image.url], as: UTF8.self), image.origin.element, image.origin.attribute, separator: "\t")
  }
}

while let path = readLine() {
  let url = origin + path
  guard let text = bytes(of: url) else { fatalError("no file for \(url)") }
  let start = ContinuousClock.now
  let page = text.withUnsafeBytes { PageDocument($0, contentType: "text/html", url: try! BaseURL(url)) }
  let time = ContinuousClock.now - start
  if getenv("PREWARM_PAGES_TIME") != nil { printNote("\(path): \(text.count) bytes, \(page.images.count) images, \(time)") }
  printImages(page.images, page.text, of: path)
  for warning in page.remarks.warnings(of: path) { printNote(warning) }
  var waiting = page.stylesheets.map { String(decoding: page.text[$0.url], as: UTF8.self) }
  var seen: Set<String> = []
  while let sheet = waiting.popLast() {
    guard seen.insert(sheet).inserted, let text = bytes(of: sheet) else { continue }
    let document = text.withUnsafeBytes { StylesheetDocument($0, contentType: "text/css", url: try! BaseURL(sheet)) }
    printImages(document.images, document.text, of: path)
    waiting += document.imports.map { String(decoding: document.text[$0.url], as: UTF8.self) }
  }
}
