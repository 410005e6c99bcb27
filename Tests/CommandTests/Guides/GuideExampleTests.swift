import Foundation
import Base
import TestSupport
import Testing

/// The README and the guides: their examples run, and print what the pages show.
@Suite struct GuideExampleTests {
  @Test(arguments: GuidePage.all) func `the examples of each page run and print what it shows`(path: String) async throws {
    let page = try GuidePage(path)
    let site = try await ExampleSite()
    var outputs: [(GuidePage.Block, String)] = []
    for block in page.blocks where block.isRun {
      let place = "\(path):\(block.lines.lowerBound)"
      for preparation in block.preparations {
        let result = try await site.run(preparation)
        #expect(result.status == 0, "\(place): \(preparation): \(result.output)")
      }
      switch block.language {
      case "yaml": await check(job: block.text, in: site, place)
      case "sh":
        let result = try await site.run(block.text)
        #expect(result.status == block.status, "\(place): \(result.output)")
        guard let shown = page.shownOutput(of: block) else { break }
        outputs.append((block, result.output.comparable == shown.comparable ? shown : result.output))
        if !Golden.isUpdating {
          #expect(result.output.comparable == shown.comparable, "\(place): it prints:\n\(result.output)")
        }
      default: break
      }
    }
    if Golden.isUpdating { try page.write(outputs: outputs) }
  }

  /// Validates a job, or a part of one in a job that is as short as can be, and writes it to the file that its first line names.
  private func check(job text: String, in site: ExampleSite, _ place: String) async {
    var job = text
    if !text.contains("version: 1\n") { job = "version: 1\nname: example\n\(text)" }
    if !text.contains("manifests:") { job += "\nmanifests: [{path: urls.txt}]" }
    let name = text.firstMatch(of: #/^# ([\w-]+\.yaml)\n/#).map { String($0.output.1) } ?? "example.yaml"
    site.work.write(job + "\n", to: name)
    do {
      let result = try await site.run("prewarm validate \(name)")
      // A reader has the lists that an example names.
      let errors = result.output.split(separator: "\n").filter {
        !$0.contains("cannot open it") && !$0.contains("no file matches")
      }
      #expect(result.status == 0 || result.status == 3 && errors.isEmpty, "\(place): \(result.output)")
    } catch {
      Issue.record("\(place): \(error)")
    }
  }

  @Test func `each guide begins with an example that is run`() throws {
    for path in GuidePage.all where path != "\(GuidePage.catalogue)/prewarm.md" {
      let first = try #require(GuidePage(path).blocks.first, "\(path) has no example")
      #expect(first.isRun && ["sh", "yaml"].contains(first.language), "\(path)")
      #expect(first.lines.lowerBound < 20, "\(path) begins with words")
    }
  }

  @Test func `the README and the guides are short`() throws {
    for path in GuidePage.all {
      let count = try GuidePage(path).lines.count - 1
      #expect(count <= (path == "README.md" ? 200 : 150), "\(path) has \(count) lines")
    }
  }

  @Test func `links between pages and to files lead somewhere`() throws {
    for path in GuidePage.all + ["CONTRIBUTING.md"] {
      let folder = path.split(separator: "/").dropLast().joined(separator: "/")
      for link in try GuidePage(path).links {
        #expect(FileManager.default.fileExists(atPath: "\(Repository.path)/\(folder)/\(link)"), "\(path): \(link)")
      }
    }
  }

  @Test func `the guides name every failure kind`() throws {
    let page = try GuidePage("\(GuidePage.catalogue)/Troubleshooting.md")
    for kind in FailureKind.allCases {
      #expect(page.lines.contains { $0.hasPrefix("| `\(kind.name)`") || $0.hasPrefix("### \(kind.name)") }, "\(kind.name)")
    }
  }
}

extension String {
  /// This output without values that differ from run to run: times, dates, sizes on disk, and the width of columns.
  fileprivate var comparable: String {
    timeless.replacing(#/\d{4}-\d\d-\d\d \d\d:\d\d UTC/#, with: "DATE")
      .replacing(#/[\d.]+ k?B (reclaimed|on disk)|on disk +[\d.]+ k?B/#, with: "DISK").replacing(#/ +/#, with: " ")
  }
}
