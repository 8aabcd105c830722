{
  description = "Carries out the file edits and commands in an LLM's chat reply when you save it in a notes file";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          version = manifest.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          nativeBuildInputs = [ pkgs.installShellFiles pkgs.pkg-config ];
          buildInputs = [ pkgs.zlib ];
          # The others need displays, services and editors: they run in the dev shell.
          cargoTestFlags = [ "--lib" ];
          # `clada service install` writes the service with the path of this program.
          postInstall = ''
            $out/bin/clada man man
            installManPage man/man1/*.1 man/man7/*.7
            for shell in bash zsh fish; do
              $out/bin/clada completions $shell > clada.$shell
            done
            installShellCompletion --cmd clada clada.{bash,zsh,fish}
          '';
          meta = {
            description = manifest.description;
            homepage = manifest.repository;
            license = pkgs.lib.licenses.mit;
            mainProgram = "clada";
          };
        };
      });

      apps = each (pkgs: {
        default = {
          type = "app";
          program = "${self.packages.${pkgs.stdenv.hostPlatform.system}.default}/bin/clada";
        };
      });

      # What `.ci/run` would install with apt.
      devShells = each (pkgs: {
        default = pkgs.mkShell {
          inputsFrom = [ self.packages.${pkgs.stdenv.hostPlatform.system}.default ];
          packages = with pkgs; [
            clippy rustfmt git shellcheck
            vim nano emacs-nox ed tmux zsh fish groff nodejs python3 ruby gnupg openssh
          ] ++ lib.optionals stdenv.hostPlatform.isLinux [
            xorg.xorgserver xclip xsel sway wl-clipboard systemd dbus chromium xfce.mousepad xdotool strace util-linux
            dpkg cargo-deb
          ];
        };
      });
    };
}
