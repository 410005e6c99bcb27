import Base
import Foundation
import Glibc
import ImageCoding
import TestOrigin
import TestSupport
import Testing

/// Decoders that an image has taken over, in processes of their own.
@Suite struct DecoderTests {
  private let origin = makeImageOrigin()

  /// A JPEG whose comment makes ``Preload/decoder`` do that.
  private static func image(_ what: String, _ path: String = "", number: Int = 0) -> [UInt8] {
    let comment = Array("misbehave:\(what):\(path):".utf8)
    let base = SampleImages.jpeg(number)
    return base[..<2] + [0xFF, 0xFE, UInt8((comment.count + 2) >> 8), UInt8((comment.count + 2) & 0xFF)] + comment + base[2...]
  }

  private func job(of images: [(name: String, bytes: [UInt8])], good: Int = 5) -> JobFolder {
    for image in images { origin.set("/\(image.name).jpg", .body(image.bytes, type: "image/jpeg")) }
    let urls = images.map { origin.url("/\($0.name).jpg") }
    return JobFolder(urls: urls + imageURLs(origin, 0..<good), keys: "verify: {decode: full}")
  }

  private static let forbidden = ["open", "write", "connect", "execute", "fork", "kill"]
  private static let endings = [
    "crash": "the decoder crashed (SIGSEGV)", "abort": "the decoder crashed (SIGABRT)",
    "exit": "the decoder exited with status 7",
    "memory": "the decoder exceeded 1667108864 bytes of memory",
  ]

  @Test func `a decoder that an image has taken over reaches nothing, and is one failed row`() async throws {
    let secret = TemporaryDirectory()
    secret.write("secret", to: "open")
    let names = Self.forbidden + Self.endings.keys.sorted()
    let job = job(of: names.map { ($0, Self.image($0, secret.file($0))) })
    let run = try job.finishedRun(try await job.startPreloaded(.decoder).wait())
    #expect(run.status == 2 && run.totals["downloaded"] == 5, "\(run.result.errorText)")
    #expect(run.failuresByKind == ["undecodable": names.count])
    for row in run.rows("failed") {
      let name = String(row.url.split(separator: "/").last!.dropLast(4))
      #expect(row.message == Self.endings[name] ?? "the decoder crashed (SIGSYS: a forbidden system call)", "\(name)")
    }
    #expect(secret.read("write") == nil)
  }

  @Test func `without processes of their own, decoders reach what the command does`() async throws {
    let secret = TemporaryDirectory()
    secret.write("secret", to: "open")
    let off = ["PREWARM_SANDBOX": "off" as String?]
    let names = Self.forbidden.filter { $0 != "execute" } + ["memory"]
    let job = job(of: names.map { ($0, Self.image($0, secret.file($0))) })
    let run = try job.finishedRun(try await job.startPreloaded(.decoder, environment: off).wait())
    #expect(run.status == 0 && run.totals["downloaded"] == names.count + 5, "\(run.result.errorText)")
    #expect(secret.read("write") != nil)
    for name in ["crash", "execute"] {
      let job = self.job(of: [(name, Self.image(name))])
      let result = try await job.startPreloaded(.decoder, environment: off).wait()
      #expect(job.folder.read("report.json") == nil, "\(result.errorText)")
    }
  }

  /// Workers whose libjpeg obeys images.
  private struct Doctored {
    let workers: DecodingWorkers
    let coders: ImageCoderRegistry
    private let folder = TemporaryDirectory()

    init(patience: Duration = .seconds(60), after script: String = ":") throws {
      let command = folder.file("prewarm")
      let lines = ["#!/bin/sh", script, "export LD_PRELOAD=\(Preload.decoder.path)", "exec \(BuiltCommand.path) \"$@\"", ""]
      folder.write(lines.joined(separator: "\n"), to: "prewarm")
      chmod(command, 0o700)
      workers = try DecodingWorkers(command: command, patience: patience)
      coders = .standard.isolated(by: workers)
    }

    /// The error of an image; nil if it is good.
    func error(_ bytes: [UInt8], _ time: Duration = .seconds(60)) -> ImageError? {
      do throws(ImageError) {
        _ = try coders.proveDecodable(bytes, limits: DecodingLimits(maximumTime: time))
        return nil
      } catch {
        return error
      }
    }

    /// The processes of workers, with their states, such as Z for a zombie.
    var children: [(process: pid_t, state: Substring)] {
      let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { pid_t($0) } ?? []
      return all.compactMap { process in
        guard let stat = readFile("/proc/\(process)/stat") else { return nil }
        let fields = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 1 && pid_t(fields[1]) == workers.process ? (process, fields[0]) : nil
      }
    }
  }

  @Test func `a worker that loops or hangs is stopped, and one that an earlier image damaged is replaced`() throws {
    let doctored = try Doctored(patience: .milliseconds(100))
    let good = SampleImages.jpeg(0)
    #expect(
      doctored.error(Self.image("loop"), .milliseconds(1))?.message
        == "the decoder was stopped after 2.001 seconds of processor time"
    )
    #expect(doctored.error(Self.image("hang"))?.message == "the decoder was stopped after 0.1 seconds without progress")
    #expect(doctored.error(good) == nil)
    let first = doctored.children.map(\.process)
    #expect(doctored.error(Self.image("once")) == nil && doctored.children.map(\.process) != first)
    #expect(doctored.error(Self.image("crash"))?.kind == .undecodable && doctored.error(good) == nil)
    #expect(doctored.children.count == 1)
  }

  @Test func `a killed worker is replaced, and a killed template or a missing resource is no fault of the image`() throws {
    let doctored = try Doctored()
    let good = SampleImages.jpeg(0)
    #expect(doctored.error(good) == nil)
    let killed = try #require(doctored.children.first?.process)
    kill(killed, SIGKILL)
    #expect(doctored.error(good) == nil && doctored.children.first?.process != killed)
    kill(doctored.workers.process, SIGKILL)
    // Its end kills the worker, which would decode one more image before.
    var ended = siginfo_t()
    waitid(P_PID, id_t(doctored.workers.process), &ended, WEXITED | WNOWAIT)
    #expect(doctored.error(good) == ImageError(.outOfMemory, "cannot start a decoder: its parent process has ended"))
  }

  @Test func `when the program is done with decoders, they have ended`() throws {
    var doctored: Doctored? = try Doctored()
    #expect(doctored?.error(SampleImages.jpeg(0)) == nil)
    let worker = try #require(doctored?.children.first?.process)
    doctored = nil
    #expect(kill(worker, 0) == -1)
  }

  @Test func `60 images with 20 crashes leave no process and no descriptor`() async throws {
    let doctored = try Doctored()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<60 {
        group.addTask {
          let bytes = number % 3 == 0 ? Self.image("crash", number: number) : SampleImages.jpeg(number)
          return doctored.error(bytes) == nil
        }
      }
      var good = 0
      for try await isGood in group { good += isGood ? 1 : 0 }
      #expect(good == 40)
    }
    #expect(ProcessUsage(of: doctored.workers.process)?.descriptors == 3)
    let children = doctored.children
    #expect(children.count <= 64 && !children.contains { $0.state == "Z" }, "\(children)")
  }
}
