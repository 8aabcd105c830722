# A template: `.ci/formulas` fills in what stands between at signs, and the release has the result.
class Clada < Formula
  desc "Carry out the edits and commands of an LLM's reply that you save in a file"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v#{version}/clada-#{version}-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 clada-@VERSION@-aarch64-apple-darwin.tar.gz@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v#{version}/clada-#{version}-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 clada-@VERSION@-x86_64-apple-darwin.tar.gz@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v#{version}/clada-#{version}-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256 clada-@VERSION@-aarch64-unknown-linux-gnu.tar.gz@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v#{version}/clada-#{version}-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256 clada-@VERSION@-x86_64-unknown-linux-gnu.tar.gz@"
    end
  end

  def install
    bin.install "clada"
    man1.install Dir["man/man1/*.1"]
    man7.install Dir["man/man7/*.7"]
    bash_completion.install "completions/clada.bash" => "clada"
    zsh_completion.install "completions/_clada"
    fish_completion.install "completions/clada.fish"
    doc.install "docs", "clada.toml"
  end

  test do
    assert_equal "clada #{version}", shell_output("#{bin}/clada --version").strip
  end
end
