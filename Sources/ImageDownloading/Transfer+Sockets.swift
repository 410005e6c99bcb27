import CCurl
import Glibc
import ImagePrimitives

/// Whom a transfer may connect to.
extension Transfer {
  /// Opens a socket for a connection to `target`; `CURL_SOCKET_BAD` has libcurl try the name's next address.
  func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let target, mayConnect(to: address(of: target)) else { return CURL_SOCKET_BAD }
    let type = target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(target.pointee.family, type, target.pointee.protocol)
    guard descriptor >= 0 else { return CURL_SOCKET_BAD }
    noteOpenedSocket()
    // A connection that nobody acknowledges is given up with all its requests; with HTTP/2 new ones would go on to join it. It counts
    // for connecting too, which has a limit of its own.
    var milliseconds = UInt32(clamping: max(options.stallTimeout, options.connectTimeout).wholeMilliseconds)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<UInt32>.size))
    return descriptor
  }

  /// Takes note that a connection, which need not be a new one, is about to be used; false where it may not be.
  func noteConnected(to address: UnsafePointer<CChar>?) -> Bool {
    let text = address.map { String(cString: $0) } ?? ""
    guard options.connection.addresses == .any || mayConnect(to: IPAddressRules.Address(text), written: text) else {
      return false
    }
    noteConnected()
    return true
  }

  private func mayConnect(to address: IPAddressRules.Address?, written: String = "an unknown address") -> Bool {
    if options.connection.addresses == .any { return true }
    if let address, IPAddressRules.isPublic(address) { return true }
    refusedAddress = address?.description ?? written
    return false
  }

  /// Nil where any will do. libcurl's structure ends in an address that may be longer than its declared one.
  private func address(of target: UnsafeMutablePointer<curl_sockaddr>) -> IPAddressRules.Address? {
    guard options.connection.addresses != .any, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    return IPAddressRules.Address(
      UnsafeRawBufferPointer(start: UnsafeRawPointer(target) + offset, count: Int(target.pointee.addrlen))
    )
  }
}
