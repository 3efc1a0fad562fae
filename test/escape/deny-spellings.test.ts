// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of bash

import { beforeEach, expect, test } from 'vitest'
import { matchDeniedCommand } from '../../src/judgement/permission/command-deny-rule.ts'
import { countEachTest } from '../support/attempt-count.ts'

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
])('PM18 %j is not free of `pwn`', (line) => {
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
])('PM53 control: %j is free of `pwn`', (line) => {
  expect(matchDeniedCommand('pwn:*', line)).toBe('no')
})

test('PM53 the arguments of such programs are read in bounded time', () => {
  for (const program of ['make', 'git', 'tar', 'npm', 'sed'])
    for (const unit of ['=', 'a', ' -a', '\\/', 's/', '0~'])
      expect(['maybe', 'no']).toContain(matchDeniedCommand('pwn:*', `${program} '${unit.repeat(100_000)}'`))
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
