// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of bash

import { expect, test } from 'vitest'
import { matchDeniedCommand } from '../../src/judgement/permission/command-deny-rule.ts'

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

test.each([
  'env CI=1 npm test',
  'timeout -s 9 60 npm test',
  'echo $RANDOM',
  'echo "${OPTIND}"',
  "cat <<'E'\n${x:-'$(pwn)'}\nE",
  "cat <<E\n${x}'s\nE",
])('PM39 %j is free of `pwn`', (line) => {
  expect(matchDeniedCommand('pwn:*', line)).toBe('no')
})
