// Runs benchmarks of the inner parts: prewarm-benchmarks FOLDER FIXTURES [NAME…], or without arguments tells their names.
//
// FOLDER is empty, and theirs alone; FIXTURES is Tests/Fixtures. Under callgrind each leaves a file of what it counted, in the folder that
// this runs in; `scripts/bench-counts` makes a table of these. A line of the output is a benchmark's name, and its operations.
import CCounting
import Glibc

let benchmarks =
  QueueBenchmarks.all + CacheBenchmarks.all + ManifestBenchmarks.all + JobBenchmarks.all + ReportBenchmarks.all
  + ImageBenchmarks.all

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count >= 2 else {
  for benchmark in benchmarks { print(benchmark.name) }
  exit(0)
}
let wanted = Set(arguments.dropFirst(2))
for benchmark in benchmarks where wanted.isEmpty || wanted.contains(benchmark.name) {
  // Each in a process of its own, so that none finds a heap, or another number of random ones drawn, for what ran before it.
  let child = counting_fork()
  if child == 0 {
    do {
      try benchmark.run(in: Workplace(folder: "\(arguments[1])/\(benchmark.name)", fixtures: arguments[2]))
      // Not `exit`, which would print once more what the parent has not written out yet.
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
