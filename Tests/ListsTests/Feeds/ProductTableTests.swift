import Base
import Lists
import TestSupport
import Testing

/// Product feeds of Google Merchant Center as text.
@Suite struct ProductTableTests {
  let directory = TemporaryDirectory()

  private func images(_ text: String, name: String = "products.tsv", order: EntryOrder = .fifo) throws -> [FeedImage] {
    try readImages(directory.manifest(text, name: name), order: order)
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `a row gives its main image and its further ones, with the product's identifier`(order: EntryOrder) throws {
    let text = """
      id\ttitle\tlink\timage_link\tadditional_image_link\tprice
      A1\tMug\thttps://a.com/mug\thttps://a.com/1.jpg\thttps://a.com/2%2C3.jpg, https://a.com/4.jpg,,https://a.com/1.jpg\t5 USD
      A2\tCup\thttps://a.com/cup\thttps://a.com/5.jpg\t\t6 USD
      A3\tJug\thttps://a.com/jug\thttps://a.com/6.jpg\t"https://a.com/7.jpg,https://a.com/""8"".jpg"\t7 USD

      """
    let expected = [
      FeedImage(line: 2, url: "https://a.com/1.jpg", id: "A1"), FeedImage(line: 2, url: "https://a.com/2%2C3.jpg", id: "A1"),
      FeedImage(line: 2, url: "https://a.com/4.jpg", id: "A1"), FeedImage(line: 3, url: "https://a.com/5.jpg", id: "A2"),
      FeedImage(line: 4, url: "https://a.com/6.jpg", id: "A3"), FeedImage(line: 4, url: "https://a.com/7.jpg", id: "A3"),
      FeedImage(line: 4, url: "https://a.com/%228%22.jpg", id: "A3"),
    ]
    #expect(try images(text, order: order) == (order == .fifo ? expected : expected.reversed()))
  }

  @Test func `names of columns may have spaces and capitals`() throws {
    let text = """
      ID,Image Link,Additional image link,Lifestyle image link,id
      x,https://a.com/1,"https://a.com/2,https://a.com/3",https://a.com/4,7

      """
    let images = try images(text, name: "products.csv")
    #expect(images.map(\.url) == (1...4).map { "https://a.com/\($0)" })
    #expect(images.allSatisfy { $0.id == "7" })
  }

  @Test func `the size of a row's image isn't that of several`() throws {
    let text = """
      image_link,additional_image_link,width,id
      https://a.com/1.jpg,,800,1
      https://a.com/2.jpg,https://a.com/3.jpg,800,2
      https://a.com/4.jpg,https://a.com/5.jpg,wide,
      https://a.com/6.jpg,,wide,

      """
    let entries = try readAll([directory.manifest(text, name: "products.csv")]).entries
    #expect(entries.map { $0.note?.expectation?.width } == [800, nil, nil, nil, nil, nil])
    #expect(entries.map { $0.note?.id } == ["1", "2", "2", nil, nil, nil])
    #expect(entries.map { $0.problem == nil } == [true, true, true, true, true, false])
  }

  @Test func `a column that the job names, or the usual one, comes first`() throws {
    let usual = "url,image_link,additional_image_link\nhttps://a.com/1,https://a.com/2,https://a.com/3\n"
    #expect(try images(usual, name: "list.csv").map(\.url) == ["https://a.com/1"])
    var manifest = directory.manifest(usual, name: "list.csv")
    manifest.columns.url = "image_link"
    #expect(try readImages(manifest).map(\.url) == ["https://a.com/2"])
    manifest.columns.url = "picture"
    #expect(throws: ListError.self) { try readImages(manifest) }
    let twice = directory.manifest("image_link,image link\nhttps://a.com/1,https://a.com/2\n", name: "list.csv")
    expectGolden(try #require(throws: ListError.self) { try readImages(twice) }.message)
  }

  @Test func `a row without its main image is invalid, and its further ones are entries`() throws {
    let text = "image link\tadditional image link\tid\n\thttps://a.com/2.jpg\tA\nhttps://a.com/3.jpg\t\tB\n"
    let entries = try readAll([directory.manifest(text, name: "products.tsv")]).entries
    #expect(entries.map(\.url) == ["", "https://a.com/2.jpg", "https://a.com/3.jpg"])
    #expect(entries.map(\.note?.id) == ["A", "A", "B"])
    expectGolden(entries[0].problem)
  }

  @Test func `priorities apply to all images of a row`() throws {
    let text = """
      image_link,additional_image_link,priority
      https://a.com/1,https://a.com/2,low
      https://a.com/3,https://a.com/4,high

      """
    let result = try readAll([directory.manifest(text, name: "products.csv")])
    #expect(result.urls == [3, 4, 1, 2].map { "https://a.com/\($0)" })
  }

  @Test(arguments: [1, 7, 1000])
  func `thousands of rows are read whole, whatever the size of a batch`(maximum: Int) throws {
    let rows = (1...5000).map { "https://a.com/\($0)a\t\"https://a.com/\($0)b,https://a.com/\($0)c\"\n" }
    let manifest = directory.manifest("image_link\tadditional_image_link\n" + rows.joined(), name: "products.tsv")
    let result = try readAll([manifest], maximum: maximum)
    #expect(result.urls == (1...5000).flatMap { row in ["a", "b", "c"].map { "https://a.com/\(row)\($0)" } })
  }
}
