# SPDX-License-Identifier: MIT
# Completion of pluginctl for fish: pluginctl itself says what could follow.
function __pluginctl
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :directories
                __fish_complete_directories (commandline -ct)
            case '*'
                string replace ' -- ' \t -- $line
        end
    end
end
complete -c pluginctl -f -a '(__pluginctl)'
