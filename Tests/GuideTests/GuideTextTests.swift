import Foundation
import Testing

/// What stands in the guide is what is compiled and run here.
@Suite struct GuideTextTests {
  @Test func everyBlockOfTheGuideIsAnExample() throws {
    var shown: Set<String> = []
    for article in try Guide.articles() {
      let blocks = try Guide.blocks(ofArticle: article)
      let name = URL(fileURLWithPath: article).deletingPathExtension().lastPathComponent + ".swift"
      if blocks.isEmpty { continue }
      #expect(try blocks == Guide.blocks(ofExamples: name), "\(article) and Examples/\(name) differ")
      shown.insert(name)
    }
    #expect(try shown == Set(Guide.examples()))
  }

  @Test func theReadmeShowsTheFirstExample() throws {
    #expect(try Guide.blocks(ofArticle: "README.md").last == Guide.blocks(ofExamples: "GettingStarted.swift").last)
  }

  @Test func theReadmeListsTheTargetsPackages() throws {
    let readme = try String(contentsOfFile: "\(Guide.root)/README.md", encoding: .utf8)
    #expect(readme.contains("product(name: \"PrewarmImages\", package: \"prewarm\")"))
  }
}
