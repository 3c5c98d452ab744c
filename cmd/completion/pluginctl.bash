# SPDX-License-Identifier: MIT
# Completion of pluginctl for bash: pluginctl itself says what could follow.
_pluginctl() {
	local line word=${COMP_WORDS[COMP_CWORD]} before=
	local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
	# bash splits a word at "=": it is one for pluginctl, and what is in front stays.
	local -a whole=()
	for line in "${words[@]}"; do
		if ((${#whole[@]})) && [[ $line == = || ${whole[-1]} == --*= ]]; then
			before=${whole[-1]}
			[[ $line == = ]] && before+="="
			[[ $line == = ]] && line=
			whole[-1]=$before$line
		else
			before=
			whole+=("$line")
		fi
	done
	[[ $word == = ]] && word=
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files) compopt -o filenames && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word") ;;
		:directories) compopt -o filenames && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$word") ;;
		*)
			line=${line%% -- *}
			COMPREPLY+=("${line#"$before"}")
			;;
		esac
	done < <("${COMP_WORDS[0]}" complete -- "${whole[@]}" 2>/dev/null)
}
complete -F _pluginctl pluginctl
