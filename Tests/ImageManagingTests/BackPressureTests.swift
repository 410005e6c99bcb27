import Testing
import Threads

@testable import ImageManaging

@Suite struct BackPressureTests {
  @Test func whoWasToldToWaitIsCalledOnceThereIsRoom() {
    let pressure = BackPressure()
    pressure.add(entries: BackPressure.maximumEntries, bytes: 0)
    #expect(!pressure.mayStart())
    #expect(pressure.subtract(entries: 1, bytes: 0))
    #expect(pressure.mayStart())
    #expect(!pressure.subtract(entries: 1, bytes: 0))
  }

  @Test func bytesAreBoundedLikeEntries() {
    let pressure = BackPressure()
    pressure.add(entries: 1, bytes: BackPressure.maximumBytes)
    #expect(!pressure.mayStart())
    #expect(pressure.subtract(entries: 1, bytes: BackPressure.maximumBytes))
  }

  @Test("a thread that was told to wait is always called, whatever the other one does meanwhile") func noCallIsLost() {
    let pressure = BackPressure()
    let calls = Mailbox<Bool>()
    let rounds = 20_000
    let work = Mailbox<Int>()
    let store = WorkerThread(name: "store") {
      var batch: [Int] = []
      var left = rounds
      while left > 0 {
        if !work.takeAll(into: &batch) { _ = work.wait() }
        for _ in batch where pressure.subtract(entries: BackPressure.maximumEntries / 2, bytes: 0) { calls.post(true) }
        left -= batch.count
      }
    }
    var batch: [Bool] = []
    for round in 0..<rounds {
      while !pressure.mayStart() {
        if !calls.takeAll(into: &batch) { _ = calls.wait() }
      }
      pressure.add(entries: BackPressure.maximumEntries / 2, bytes: 0)
      work.post(round)
    }
    store.join()
  }
}
