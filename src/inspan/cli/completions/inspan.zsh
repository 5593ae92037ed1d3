#compdef inspan
# Completion of inspan for zsh. Put it as _inspan into a folder of your fpath.
_inspan() {
    local -a found
    local line word said
    while IFS= read -r line; do
        word="${line%%$'\t'*}"
        said="${line#*$'\t'}"
        found+=("${word//:/\\:}:${said}")
    done < <(inspan __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe 'inspan' found
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_inspan" ]; then
    _inspan "$@"
else
    compdef _inspan inspan
fi
