# A formula for Homebrew on Linux. Each release has this file with its version and checksums; copy that to Formula/ of a tap:
#   brew tap-new NAME/tap && cp prewarm.rb "$(brew --repository NAME/tap)/Formula/" && brew install NAME/tap/prewarm
class Prewarm < Formula
  desc "Warm image caches and check image URLs"
  homepage "https://github.com/OWNER/prewarm"
  version "@version@"
  license "MIT"

  depends_on :linux

  on_intel do
    url "https://github.com/OWNER/prewarm/releases/download/v@version@/prewarm-@version@-x86_64-linux.tar.gz"
    sha256 "@x86_64@"
  end

  on_arm do
    url "https://github.com/OWNER/prewarm/releases/download/v@version@/prewarm-@version@-aarch64-linux.tar.gz"
    sha256 "@aarch64@"
  end

  def install
    # The command finds its libraries beside the folder that it is in, also through a link.
    libexec.install "bin", "lib"
    bin.install_symlink libexec/"bin/prewarm"
    share.install Dir["share/*"]
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/prewarm --version").strip
  end
end
