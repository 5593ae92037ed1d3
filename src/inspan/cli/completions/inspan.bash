# Completion of inspan for bash. In ~/.bashrc: eval "$(inspan completion bash)"
_inspan() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <(inspan __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [ "${#COMPREPLY[@]}" -eq 0 ]; then
        compopt -o default 2>/dev/null
    fi
}
complete -F _inspan inspan
