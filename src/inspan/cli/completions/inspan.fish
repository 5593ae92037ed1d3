# Completion of inspan for fish. Put it into ~/.config/fish/completions/inspan.fish
function __inspan_complete
    set -l words (commandline -opc) (commandline -ct)
    inspan __complete $words[2..-1] 2>/dev/null
end
complete -c inspan -a '(__inspan_complete)'
