import Testing

@testable import ImageDownloading

/// Which loop runs a host's next transfer.
@Suite struct LoopChoiceTests {
  private func choice(_ count: Int) -> LoopChoice {
    var choice = LoopChoice()
    choice.setCount(count)
    return choice
  }

  @Test func `requests one after another meet at the host's home`() {
    var choice = choice(4)
    for host in 0..<20 {
      for _ in 0..<3 {
        #expect(choice.start(host: host, mayUseHTTP2: false) == host % 4)
        choice.finish(host: host, loop: host % 4)
      }
    }
  }

  @Test(arguments: [1, 2, 3, 8]) func `a host's transfers at the same time spread evenly`(count: Int) {
    var choice = choice(count)
    let loops = (0..<5 * count).map { _ in choice.start(host: 7, mayUseHTTP2: false) }
    #expect((0..<count).allSatisfy { loop in loops.count { $0 == loop } == 5 })
    // The one that becomes free is taken next.
    choice.finish(host: 7, loop: count - 1)
    #expect(choice.start(host: 7, mayUseHTTP2: false) == count - 1)
  }

  @Test func `over TLS they stay at home until the server responds by HTTP/1.1`() {
    var choice = choice(2)
    #expect((0..<4).map { _ in choice.start(host: 1, mayUseHTTP2: true) } == [1, 1, 1, 1])
    choice.noteHTTP1(of: 1)
    #expect((0..<4).map { _ in choice.start(host: 1, mayUseHTTP2: true) } == [0, 0, 0, 0])
    for loop in [0, 0, 0, 0, 1, 1, 1, 1] { choice.finish(host: 1, loop: loop) }
    choice.forget(host: 1)
    #expect((0..<2).map { _ in choice.start(host: 1, mayUseHTTP2: true) } == [1, 1])
  }

  @Test func `the number of loops changes while transfers run`() {
    var choice = choice(2)
    #expect((0..<4).map { _ in choice.start(host: 0, mayUseHTTP2: false) } == [0, 1, 0, 1])
    choice.setCount(4)
    #expect((0..<4).map { _ in choice.start(host: 0, mayUseHTTP2: false) } == [2, 3, 2, 3])
    choice.setCount(1)
    #expect(choice.start(host: 0, mayUseHTTP2: false) == 0)
    for loop in [0, 0, 0, 1, 1, 2, 2, 3, 3] { choice.finish(host: 0, loop: loop) }
    choice.setCount(3)
    #expect((0..<3).map { _ in choice.start(host: 0, mayUseHTTP2: false) } == [0, 1, 2])
  }

  @Test(
    arguments: [
      (cores: 1, concurrency: 32, threads: 1), (2, 32, 1), (4, 32, 2), (16, 32, 4), (16, 6, 1), (64, 4096, 16), (2, 1024, 1),
      (2, 4096, 4), (1, 2048, 2),
    ]
  ) func `automatic threads: half the cores, at most one for 8 transfers and 16, at least one for 1,024`(
    cores: Int,
    concurrency: Int,
    threads: Int
  ) {
    var limits = DownloadLimits(concurrency: concurrency)
    #expect(limits.threads(cores: cores) == threads)
    limits.threads = 3
    #expect(limits.threads(cores: cores) == 3)
  }
}
