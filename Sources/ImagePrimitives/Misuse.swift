/// Traps with a sentence where a programmer uses the library wrongly, in release builds too, in which `precondition` keeps silent.
package func trap(
  unless isRight: Bool,
  _ sentence: @autoclosure () -> String,
  file: StaticString = #file,
  line: UInt = #line
) {
  if !isRight { fatalError(sentence(), file: file, line: line) }
}
