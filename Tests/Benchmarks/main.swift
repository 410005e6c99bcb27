// Runs benchmarks of inner parts: prewarm-benchmarks FOLDER FIXTURES [NAME…], or lists their names if there are no arguments.
//
// FOLDER must be empty; FIXTURES is Tests/Fixtures. Under callgrind, each benchmark writes a file with its counts to the current
// folder, which `scripts/bench-counts` summarises. Each line of the output has a benchmark's name and number of operations.
import CCounting
import Glibc

let benchmarks =
  QueueBenchmarks.all + CacheBenchmarks.all + ManifestBenchmarks.all + JobBenchmarks.all + ReportBenchmarks.all
  + ImageBenchmarks.all

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "pauses", arguments.count == 4, let count = Int(arguments[4]) {
  try await PauseBenchmark(workspace: Workspace(folder: arguments[2], fixtures: arguments[3]), count: count).run()
  exit(0)
}
guard arguments.count >= 2 else {
  for benchmark in benchmarks { print(benchmark.name) }
  exit(0)
}
let wanted = Set(arguments.dropFirst(2))
for benchmark in benchmarks where wanted.isEmpty || wanted.contains(benchmark.name) {
  // Use a process for each, so that its heap and random numbers don't depend on previous benchmarks.
  let child = counting_fork()
  if child == 0 {
    do {
      try benchmark.run(in: Workspace(folder: "\(arguments[1])/\(benchmark.name)", fixtures: arguments[2]))
      // `exit` would print again what the parent hasn't flushed.
      _exit(0)
    } catch {
      let sentence = Array("prewarm-benchmarks: \(benchmark.name): \(error)\n".utf8)
      write(STDERR_FILENO, sentence, sentence.count)
      _exit(1)
    }
  }
  guard child > 0, counting_wait(child) == 0 else { exit(1) }
  print(benchmark.name, benchmark.operations)
}
