// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of bash

import { beforeEach, expect, test } from 'vitest'
import { matchDeniedCommand } from '../../src/judgement/permission/command-deny-rule.ts'
import { countEachTest } from '../support/attempt-count.ts'
import { expectLinearTime } from '../support/linear-time.ts'

beforeEach(countEachTest('permissions'))

/* Lines that bash turns into a call of `pwn`, and in which a deny rule once saw none. */

test.each([
  'env -Spwn',
  'env --split-string=pwn',
  'env PAGER=pwn git log',
  'ssh -o ProxyCommand=pwn host',
  'ssh -oProxyCommand=pwn host',
  "RANDOM='a[$(pwn)]'",
  "OPTIND='a[$(pwn)]' true",
  "read OPT''IND <<< 'a[$(pwn)]'",
  "for SRANDOM in 'a[$(pwn)]'; do :; done",
  "cat <<E\n${x:-'$(pwn)'}\nE",
  "cat <<E\n${x:-'`pwn`'}\nE",
])('PM27 %j is not free of `pwn`', (line) => {
  expect(matchDeniedCommand('pwn:*', line)).not.toBe('no')
})

/* Programs that run a text of their own language, in which the name is hidden. */
test.each([
  "sed '1e p''wn x' f",
  "sed -n '1e $(printf p)wn' f",
  "sed -ne 's/x/p$(:)wn/e' f",
  "sed --expression='$e p${x}wn' f",
  "sed '/x/{s|a|b|;e p${x}wn\n}' f",
  'make -f - <<E\nall: ; p$${x}wn\nE',
  "make --eval='$(shell p$${x}wn)'",
  "make CC='p${x}wn' all",
  'printf p${x}wn | xargs -I{} {}',
  'awk \'BEGIN { system("p" "wn") }\'',
  'awk \'BEGIN { c = "p" "wn"; print 1 | c }\'',
  'awk \'BEGIN { c = "p" "wn"; print 1 /2 | c/ 3 }\'',
  'awk \'BEGIN { c = "p" "wn"; print 1 \\\n/2 | c/ 3 }\'',
  'awk \'/[/],/ { c = "p" "wn"; print | c } /x/\'',
  'awk \'{ c = "p" "wn"; print /"/; print | c; x = "" }\'',
  'awk \'{ c = "p" "wn" # "\n print | c # "\n }\'',
  'awk -F -v \'{ c = "p" "wn"; print | c }\' f',
  'awk -v x=1 -F , \'{ "p" "wn" |& getline }\' f',
  'awk \'{ f = "sys" "tem"; @f(x) }\'',
  "find . -exec sh -c 'p${x}wn' \\;",
  "git -c alias.x='!p${x}wn' x",
  "git -c core.pager='p${x}wn' log",
  "git bisect run sh -c 'p${x}wn'",
  "git submodule foreach 'p${x}wn'",
  "git rebase --exec 'p${x}wn' main",
  "tar xf a.tar --to-command='p${x}wn'",
  "tar cf a.tar --checkpoint=1 --checkpoint-action=exec='p${x}wn' b",
  "tar -I 'p${x}wn' -xf a.tar",
  "vim -c ':!p${x}wn' f",
  "vim '+!p${x}wn' f",
  'ex -s f <<E\n!p${x}wn\nE',
  'ed f <<E\n!p${x}wn\nE',
  "perl -e '`p${x}wn`'",
  'ruby -e \'exec "p" + "wn"\'',
  "sqlite3 a.db '.shell p${x}wn'",
  "psql -c '\\! p${x}wn'",
  "rsync -e 'p${x}wn' a b:c",
  "split --filter='p${x}wn' f",
  "docker run image sh -c 'p${x}wn'",
  "npx -c 'p${x}wn'",
  "unknown-program 'p\\wn x'",
  "tmux new-session 'p${x}wn'",
  "gdb -batch -ex 'shell p${x}wn'",
  // Behind a wrapper with options.
  "env -i PATH=/bin sed '1e p${x}wn' f",
  "timeout -s 9 60 sed '1e p${x}wn' f",
  "timeout --preserve-status 5 gdb -batch -ex 'shell p${x}wn'",
  "nice -n 5 tar xf a --to-command='p${x}wn'",
  "nice -n 5 vim -c ':!p${x}wn'",
  "stdbuf -o0 sed '1e p${x}wn' f",
  "sudo -n git -c alias.x='!p${x}wn' x",
  "ionice -c3 sed '1e p${x}wn' f",
  "setpriv -- sed '1e p${x}wn' f",
  "runuser -u x -- sed '1e p${x}wn' f",
  'uv run python -c \'import os; os.system("p" + "wn")\'',
  'npx tsx -e \'import("child_process")\'',
  "docker run image python -c 'import os'",
  "printf 'p%sn' w | uv run bash",
  "git archive --remote='ext::p${x}wn' HEAD",
  // Where `sed` finds its script.
  "sed --follow-symlinks '1e p${x}wn' f",
  "sed -f /dev/null -e '1e p${x}wn' f",
  "sed -f a.sed -e '1e p${x}wn' f",
  "sed -ie1p '1e p${x}wn' f",
  "sed -be'1e p${x}wn' f",
  "sed -l 1p '1e p${x}wn' f",
  "sed -- '1e p${x}wn' -e p",
  "POSIXLY_CORRECT=1 sed '1e p${x}wn' -e p",
  "sed -f - f <<'E'\n1e p${x}wn\nE",
  "sed --file=/dev/stdin f <<'E'\n1e p${x}wn\nE",
  "sed '/x/{p;e p${x}wn\n}' f",
  // Abbreviated and combined options.
  "make -sf- <<'E'\nall: ; p$${x}wn\nE",
  "make --fil=- <<'E'\nall: ; p$${x}wn\nE",
  "make --mak=- <<'E'\nall: ; p$${x}wn\nE",
  "make -C . -rf /dev/stdin <<'E'\nall: ; p$${x}wn\nE",
  "make -sE '$(shell p$${x}wn)'",
  "make 'X!=p$${x}wn'",
  "make X:='$(shell p$${x}wn)'",
  "make CC='/bin/p?n' all",
  "git rebase -ix 'p${x}wn' main",
  "git clone -u 'p${x}wn' ./a d",
  "git fetch 'ext::p${x}wn'",
  "git config core.pager 'p${x}wn'",
  "git -c core.pager='/bin/p?n' log",
  "rsync --rs='p${x}wn' a b:c",
  "sort --co='p${x}wn' f",
  "man -H'p${x}wn' ls",
  "go test -exec 'p${x}wn' ./...",
  // Options and variables that are not visible.
  "O='--to-command=p${x}wn'; tar xf a.tar $O",
  'X=\'alias.z=!p${x}wn\'; git -c "$X" z',
  "X='p${x}wn'; git -c core.pager=$X log",
  "echo '--to-command=p${x}wn' | xargs tar xf a.tar",
  "FOO='!p${x}wn' git --config-env=alias.z=FOO z",
  "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0='!p${x}wn' git z",
  "GIT_SSH_COMMAND='p${x}wn' git fetch",
  "GIT_EXTERNAL_DIFF='p${x}wn' git diff",
  "export GIT_PAGER='p${x}wn'; git log",
  "env GIT_PAGER='p${x}wn' git log",
  "PAGER='p${x}wn' man ls",
  "MAKEFLAGS='--eval=$(shell p$${x}wn)' make",
  // Standard input.
  "sqlite3 a.db <<'E'\n.shell p${x}wn\nE",
  "psql <<'E'\n\\! p${x}wn\nE",
  'sqlite3 a.db <<< "$x"',
  // Shell texts of one word, and words that a shell joins.
  "watch 'p${x}wn'",
  "watch -n 1 'p{w,}n'",
  "su -c 'p${x}wn'",
  "script -c 'p${x}wn'",
  "env -S 'p${x}wn'",
  "parallel 'p${x}wn' ::: a",
  "ssh host echo '$(p${x}wn)'",
  "tmux ls -F '#(p${x}wn)'",
])('PM53 %j is not taken for free of `pwn`', (line) => {
  expect(matchDeniedCommand('pwn:*', line)).not.toBe('no')
})

test.each([
  "sed -n '1,20p' src/a.ts",
  "sed -i 's/foo/bar/g; s|e|x|' src/a.ts",
  "sed '/export/d;$p' a",
  "sed -E 's/(a|b)+/\\1/' a",
  'make test',
  'make -j4 -f build/Makefile PREFIX=/usr all',
  'tar -xzf a.tar.gz -C out',
  'tar cf Files.tar Files',
  'git -c color.ui=never log --oneline',
  'git diff main -- src',
  'git fetch origin main',
  'git commit -m "don\'t stop=now"',
  'npx vitest run src',
  'npm test -- -c vitest.config.ts',
  'docker compose up -d',
  "sqlite3 a.db 'select 1'",
  'rsync -a a/ b/',
  'sort -u a',
  'vim +12 a',
  "sed '/x/a foo' f",
  "sed -n '/a/{p;q}' f",
  "sed 'y/abc/xyz/' f",
  "sed -i '' 's_a_b_' f",
  "sed --in-place=.bak -e 's/a/b/' -f more.sed f",
  'find . | xargs sed -i s/a/b/',
  'make CFLAGS="-O2 -g" all',
  'make SHELLCHECK=1',
  'make -j$(nproc)',
  'nice -n 5 make -j4',
  'git -C sub commit -m "Set a=b and c"',
  'git merge -m "x=1 is set" b',
  'git -c user.name="A B" commit -m x',
  'git for-each-ref --format="%(refname) %(x)"',
  'git clone --recurse-submodules u',
  'git cherry-pick -x abc',
  'git config user.name "A B"',
  'GIT_PAGER=cat git log',
  'GIT_EDITOR=true git rebase --continue',
  'rg bash src',
  'rg --pretty node',
  'sort -z f',
  'cp a /bin/sh',
  'crontab -l',
  'tmux ls',
  "sqlite3 a.db 'select x.output from x'",
  "sqlite3 a.db <<'E'\nselect 1;\nE",
  'uv run python x.py',
  'npx tsx src/a.ts',
  "xargs -d '\\n' -I{} cp {} out",
  'watch -n 1 ls',
])('PM53 control: %j is free of `pwn`', (line) => {
  expect(matchDeniedCommand('pwn:*', line)).toBe('no')
})

test('PM53 the arguments of such programs are read in linear time', async () => {
  const check = async (length: number, line: (length: number) => string) => {
    const match = (count: number) => matchDeniedCommand('pwn:*', line(count))
    expect(['maybe', 'no']).toContain(match(length))
    await expectLinearTime(match, length, line(1))
  }
  for (const program of ['make', 'git', 'tar', 'npm', 'sed'])
    for (const unit of ['=', 'a', ' -a', '\\/', 's/', '0~', '{ ', ' }'])
      await check(100_000, (length) => `${program} '${unit.repeat(length)}'`)
  for (const unit of [' sh', ' awk -F', ' python -a', ' rebase', ' -e p', ' -u git'])
    for (const program of ['unknown', 'git', 'sed', 'sudo -u'])
      await check(2000, (length) => `${program}${unit.repeat(length)}`)
})

test.each([
  'env CI=1 npm test',
  'timeout -s 9 60 npm test',
  'echo $RANDOM',
  'echo "${OPTIND}"',
  "cat <<'E'\n${x:-'$(pwn)'}\nE",
  "cat <<E\n${x}'s\nE",
])('PM39 control: %j is free of `pwn`', (line) => {
  expect(matchDeniedCommand('pwn:*', line)).toBe('no')
})
