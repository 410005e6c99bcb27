import Testing
import Base

@testable import ImageManaging

@Suite struct BackPressureTests {
  @Test func `a blocked caller is called once there is room`() {
    let pressure = BackPressure()
    pressure.add(BackPressure.Held(entries: pressure.limit.entries))
    #expect(!pressure.mayStart())
    #expect(pressure.subtract(BackPressure.Held(entries: 1)))
    #expect(pressure.mayStart())
    #expect(!pressure.subtract(BackPressure.Held(entries: 1)))
  }

  @Test(
    arguments: [BackPressure.Held(entries: 10), BackPressure.Held(bytes: 10), BackPressure.Held(blobs: 10)]
  )
  func `entries, bytes and open files are each limited`(held: BackPressure.Held) {
    let pressure = BackPressure(limit: BackPressure.Held(entries: 10, bytes: 10, blobs: 10))
    pressure.add(held)
    #expect(!pressure.mayStart())
    #expect(pressure.subtract(held))
  }

  @Test func `a blocked thread is always called, whatever the other thread does meanwhile`() throws {
    let pressure = BackPressure()
    let calls = Mailbox<Bool>()
    let rounds = 20_000
    let half = BackPressure.Held(entries: pressure.limit.entries / 2)
    let work = Mailbox<Int>()
    let store = try WorkerThread(name: "store") {
      var batch: [Int] = []
      var left = rounds
      while left > 0 {
        if !work.takeAll(into: &batch) { _ = work.wait() }
        for _ in batch where pressure.subtract(half) { calls.post(true) }
        left -= batch.count
      }
    }
    var batch: [Bool] = []
    for round in 0..<rounds {
      while !pressure.mayStart() {
        if !calls.takeAll(into: &batch) { _ = calls.wait() }
      }
      pressure.add(half)
      work.post(round)
    }
    store.join()
  }
}
