# The release for Nix on Linux. Each release has this file with its version and checksums: nix-env -i -f prewarm.nix
# or, in a configuration, pkgs.callPackage ./prewarm.nix { }
{ pkgs ? import <nixpkgs> { } }:

let
  version = "@version@";
  machine = pkgs.stdenv.hostPlatform.parsed.cpu.name;
  checksums = {
    x86_64 = "@x86_64@";
    aarch64 = "@aarch64@";
  };
in
pkgs.stdenv.mkDerivation {
  pname = "prewarm";
  inherit version;

  src = pkgs.fetchurl {
    url = "https://github.com/OWNER/prewarm/releases/download/v${version}/prewarm-${version}-${machine}-linux.tar.gz";
    sha256 = checksums.${machine};
  };

  # NixOS has no /lib64/ld-linux-x86-64.so.2; the other libraries come along.
  nativeBuildInputs = [ pkgs.autoPatchelfHook ];
  dontStrip = true;

  installPhase = ''
    mkdir $out
    cp -r bin lib share $out
  '';

  meta = {
    description = "Warm image caches and check image URLs";
    homepage = "https://github.com/OWNER/prewarm";
    license = pkgs.lib.licenses.mit;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "prewarm";
  };
}
