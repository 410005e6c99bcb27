import Base
import Testing

@testable import Reports

@Suite struct TimelineTests {
  private func totals(_ good: UInt64, failed: UInt64 = 0) -> OutcomeTotals {
    var totals = OutcomeTotals()
    (totals.downloaded, totals.failed) = (good, failed)
    return totals
  }

  @Test func `entries finished since the last sample count in the next step`() {
    var recorder = TimelineRecorder()
    #expect(recorder.timeline == nil)
    recorder.sample(totals(2), receivedBytes: 10, elapsed: .milliseconds(100))
    recorder.sample(totals(3, failed: 1), receivedBytes: 15, elapsed: .milliseconds(249))
    recorder.sample(totals(3, failed: 1), receivedBytes: 15, elapsed: .milliseconds(400))
    recorder.sample(totals(5, failed: 3), receivedBytes: 99, elapsed: .milliseconds(750))
    #expect(
      recorder.timeline
        == Timeline(
          step: .milliseconds(250),
          steps: [.init(urls: 4, bad: 1, receivedBytes: 15), .init(), .init(), .init(urls: 4, bad: 2, receivedBytes: 84)]
        )
    )
  }

  @Test func `above 120 steps the step doubles and sums are kept`() throws {
    var recorder = TimelineRecorder()
    var steps: Set<Int> = []
    for number in 1...40_000 as ClosedRange<UInt64> {
      recorder.sample(
        totals(number, failed: number / 3),
        receivedBytes: number * 7,
        elapsed: .milliseconds(Int64(number) * 125 - 125)
      )
      if number % 97 == 0 || number < 300 {
        let timeline = try #require(recorder.timeline)
        steps.insert(timeline.steps.count)
        #expect(timeline.steps.reduce(0) { $0 + $1.urls } == number + number / 3)
        #expect(timeline.steps.reduce(0) { $0 + $1.bad } == number / 3)
        #expect(timeline.steps.reduce(0) { $0 + $1.receivedBytes } == number * 7)
      }
    }
    #expect(steps.max() == 120)
    // 5,000 s in steps of 250 ms, doubled until 120 of them are enough.
    #expect(recorder.timeline?.step == .seconds(64) && recorder.timeline?.steps.count == 79)
  }

  @Test func `a long silence is many empty steps`() throws {
    var recorder = TimelineRecorder()
    recorder.sample(totals(1), receivedBytes: 0, elapsed: .zero)
    recorder.sample(totals(2), receivedBytes: 0, elapsed: .seconds(86_400 * 365))
    let timeline = try #require(recorder.timeline)
    #expect(timeline.steps.count <= 120 && timeline.steps.first?.urls == 1 && timeline.steps.last?.urls == 1)
    #expect(timeline.step * timeline.steps.count > .seconds(86_400 * 365))
  }

  @Test func `a sample at a step's end belongs to the next step`() throws {
    var recorder = TimelineRecorder()
    recorder.sample(totals(1), receivedBytes: 0, elapsed: .milliseconds(29_999))
    #expect(recorder.timeline?.steps.count == 120 && recorder.timeline?.step == .milliseconds(250))
    recorder.sample(totals(2), receivedBytes: 0, elapsed: .seconds(30))
    #expect(recorder.timeline?.steps.count == 61 && recorder.timeline?.step == .milliseconds(500))
  }

  @Test func `a report has the timeline up to its end`() throws {
    let run = makeRun()
    run.record(.downloaded(bytes: 100, milliseconds: 1), count: 3)
    #expect(run.finish(makeEnd()).timeline == nil)
    run.sample(elapsed: .milliseconds(10))
    run.record(.failed(ImageFailure(.timeout, message: "no answer")), count: 2)
    let timeline = try #require(run.finish(makeEnd()).timeline)
    #expect(timeline.steps.count == 5)
    #expect(timeline.steps.first == Timeline.Step(urls: 3, bad: 0, receivedBytes: 300))
    #expect(timeline.steps.last == Timeline.Step(urls: 2, bad: 2, receivedBytes: 0))
  }
}
