import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_MATCH_WORK, matchDeniedCommand } from './command-deny-rule.ts'
import { evaluatePolicies } from './permission-policy.ts'
import { parseShellLine } from './shell-parser.ts'

const decide = (rule: string, subject: string) =>
  evaluatePolicies([{ deny: [rule] }], { tool: 'Bash', subject, acts: true }).decision

describe('PM27 a deny rule for rm', () => {
  test.each([
    ...['>f rm x', '2>/dev/null rm x', 'rm>/dev/null x', 'rm<x y', 'r\\\nm x', 'r""m x', "'rm' x", '\\rm x'],
    ...['timeout 5 rm x', 'env -i rm x', 'nice -n 5 rm x', 'sudo -u root rm x', 'ls | xargs -n1 rm', 'time -p rm x'],
    ...['command -p rm x', 'exec -a y rm x', 'find . -exec rm {} +', 'setsid rm x', 'stdbuf -o0 rm x', 'coproc rm x'],
    ...[
      "trap 'rm x' EXIT",
      'function f { rm x; }; f',
      'f() { rm x; }; f',
      'case a in a)rm x;;esac',
      'for i in a;do rm x;done',
    ],
    ...[
      'echo "$(rm x)"',
      'echo `rm x`',
      'cat <(rm x)',
      'eval "rm x"',
      'bash -c "ls; rm x"',
      'sudo sh -c "rm x"',
      '# no\nrm x',
    ],
    ...['busybox rm x', "env -S 'rm x'", 'echo "a" "$(echo "$(rm x)")"', 'rm', 'X=1 Y=2 rm x', '! rm x'],
  ])('PM27 denies %j', (command) => {
    expect(decide('Bash(rm:*)', command)).toBe('deny')
    expect(decide('Bash(rm)', command)).toBe('deny')
  })

  test.each([
    ...["$'rm' x", `r\${e}m x`, '$(echo rm) x', 'a=rm; $a x', `rm\${IFS}x`, '{rm,x}', '/bin/r? x', 'HOME=rm; ~ x'],
    ...[
      'sh<<<"rm x"',
      'bash<f',
      'python3 -c "import os; os.remove(1)"',
      "printf 'rm x' | sh",
      'sh /dev/stdin',
      '. ./f',
    ],
    ...[
      'alias x=rm; x y',
      'cp /bin/rm y; ./y x',
      `awk 'BEGIN{system("r" "m x")}' x`,
      'perl -e 1',
      'node --eval 1',
      'echo x | node',
      'xargs $c',
    ],
    ...[
      'bash <<E\nr""m x\nE',
      'cat <<E\nx\nE\nr\\m x; $x',
      'cat <<E\nE\\\nE\n$(rm x)\nE',
      'echo "unfinished',
      'eval $x',
      'sh -c "$x"',
      `echo \${x:-$(rm y)`,
      "ssh host 'r''m x'",
      'watch $c',
    ],
  ])('PM27 asks about %j', (command) => {
    expect(decide('Bash(rm:*)', command)).not.toBe('allow')
  })

  test.each([
    ...[
      'ls rm',
      'echo rm',
      'grep -r rm src',
      'npm run build',
      'echo $HOME',
      'npm test -- "$FILE"',
      'ls *.ts && wc -l *.md',
    ],
    ...[
      'find . -name "*.ts"',
      'node script.js',
      'python3 -m pytest',
      'git commit -m "alarm"',
      'cd src; make # rm',
      'cp *.ts out',
    ],
    ...['for f in *.ts; do echo "$f"; done', 'npm test 2>&1 | tail -5', '[ -f x ] && cat x', 'timeout 5 npm test'],
  ])('PM27 does not match %j', (command) => {
    expect(decide('Bash(rm:*)', command)).toBe('allow')
  })
})

test.each([
  ...[
    'git push',
    'git -C . push',
    'git -c a=b push',
    'git --no-pager push',
    'git "push" x',
    'git p\\ush',
    'command git push',
  ],
])('PM27 a deny rule for a subcommand skips options: %j', (command) => {
  expect(decide('Bash(git push:*)', command)).toBe('deny')
})

test('PM27 a deny rule for a subcommand matches only that subcommand, and asks when it is not visible', () => {
  expect(decide('Bash(git push:*)', 'git commit -m push')).toBe('allow')
  expect(decide('Bash(git push:*)', 'git log')).toBe('allow')
  expect(decide('Bash(git push:*)', 'git $x')).toBe('ask')
  expect(decide('Bash(git push:*)', 'ls | xargs git')).toBe('ask')
  expect(decide('Bash(git push:*)', 'git -c alias.x=push x')).toBe('ask')
  expect(decide('Bash(docker * --privileged *)', 'docker run --privileged x')).toBe('deny')
  expect(decide('Bash(docker * --privileged *)', 'docker run x')).toBe('allow')
})

test('PM27 an ask rule also asks when it may apply', () => {
  const decideAsk = (subject: string) =>
    evaluatePolicies([{ ask: ['Bash(git push:*)'] }], { tool: 'Bash', subject, acts: true }).decision
  expect(['git -C . push', 'git $x', 'git log'].map(decideAsk)).toEqual(['ask', 'ask', 'allow'])
})

test('PM27 an allow rule does not cover commands that are not visible, and denies commands it does not match', () => {
  const policy = { allow: ['Bash(npm test:*)', 'Bash(node:*)'], deny: ['Bash(rm:*)'] }
  const decisions = ['npm test', 'node -e 1', 'npm test; $x', 'npm test; rm x'].map(
    (subject) => evaluatePolicies([policy], { tool: 'Bash', subject, acts: true }).decision,
  )
  expect(decisions).toEqual(['allow', 'ask', 'deny', 'deny'])
  const readOnly = { mode: 'read' as const, deny: ['Bash(rm:*)'] }
  expect(evaluatePolicies([readOnly], { tool: 'Bash', subject: '$x', acts: true }).decision).toBe('deny')
})

test('PM27 any text gets a decision, and a text that ends in the denied command never passes', () => {
  const text = fc.array(
    fc.constantFrom('a', ' ', '"', "'", '\\', '$', '(', ')', '{', '}', '`', ';', '<', '>', '#', '|', '\n'),
    {
      maxLength: 30,
    },
  )
  fc.assert(
    fc.property(text, (chars) => {
      const before = chars.join('')
      expect(['yes', 'maybe', 'no']).toContain(matchDeniedCommand('rm:*', before))
      // Without open quotes or groups, the last line is a separate command.
      const closed = !/["'\\$(){}`<#]/.test(before)
      const line = `${before}\nrm x`
      const decision = matchDeniedCommand('rm:*', line)
      if (closed) expect(decision).not.toBe('no')
      if (closed && parseShellLine(line).fullyParsed) expect(decision).toBe('yes')
    }),
    { numRuns: 2000 },
  )
})

/** The work that matching a line takes. */
function matchWork(line: string): number {
  const work = { left: Number.MAX_SAFE_INTEGER }
  matchDeniedCommand('rm:*', line, work)
  return Number.MAX_SAFE_INTEGER - work.left
}

test('PM48 the work for one line is bounded, however often a command is wrapped, and then a person is asked', () => {
  const nested = (count: number) => `sudo ${'-u env '.repeat(count)}`
  // Without a limit, the work grows faster than the square of the length.
  expect(matchWork(nested(20))).toBeGreaterThan(16 * matchWork(nested(5)))
  for (const line of [nested(14_000), `xargs ${'-a sh -c '.repeat(11_000)}`, `sudo ${'"-u env" '.repeat(11_000)}`]) {
    const work = { left: MAX_MATCH_WORK }
    expect(matchDeniedCommand('rm:*', line, work)).toBe('maybe')
    expect(work.left).toBeGreaterThan(-2 * line.length)
  }
})

test('PM47 nesting and here-documents beyond the limits are not parsed: a deny rule asks, no allow rule applies', () => {
  const deep = (text: string) => text.repeat(50_000)
  for (const line of [deep('$('), deep('{a,'), deep('$['), deep('<<E '), `${'('.repeat(33)}ls${')'.repeat(33)}`]) {
    expect(parseShellLine(line)).toMatchObject({ commands: [], fullyParsed: false })
    expect(decide('Bash(rm:*)', line)).toBe('ask')
  }
  expect(parseShellLine(`${'('.repeat(32)}ls${')'.repeat(32)}`)).toMatchObject({ fullyParsed: true })
})

test('TO23 the longest command is checked quickly, whatever wildcards and nesting it has', () => {
  const rule = 'docker * * * --privileged *'
  expect(matchDeniedCommand(rule, `docker ${'a '.repeat(40_000)}z`)).toBe('no')
  expect(matchDeniedCommand(rule, `sudo ${'docker '.repeat(14_000)}`)).toBe('maybe')
  expect(matchDeniedCommand('rm:*', '$('.repeat(50_000))).toBe('maybe')
  expect(matchDeniedCommand('rm:*', `sudo ${'sh -c '.repeat(15_000)}`)).toBe('maybe')
  expect(matchDeniedCommand('git push:*', `git ${'-a '.repeat(30_000)}`)).toBe('maybe')
  const blanks = { tool: 'Bash', subject: `a${' '.repeat(99_000)}b`, acts: true }
  expect(evaluatePolicies([{ allow: ['Bash(c)'] }], blanks).decision).toBe('deny')
})

describe('PM39 deny rules for rm, curl and git push', () => {
  const deny = ['Bash(rm:*)', 'Bash(curl:*)', 'Bash(git push:*)']
  const decideAll = (subject: string) => evaluatePolicies([{ deny }], { tool: 'Bash', subject, acts: true }).decision

  test.each([
    ...['command -v curl', 'find . -name rm', 'find src | xargs grep curl', 'find . -exec grep -l curl {} +'],
    ...['time grep curl x', 'timeout 5 grep rm x', 'sudo -u root grep rm x', 'xargs -I{} echo rm {}'],
    ...['git add src/*.ts', 'git diff "$BASE"', 'git diff {a,b}', 'git rm x', 'npm rm x', 'npm install curl'],
    ...["git commit -m 'remove rm usage'", "cat > a.txt <<'EOF'\nrm x; $(rm y)\nEOF", 'cat <<E\nrm x\nE'],
    ...['git commit -m "$(cat <<EOF\nfix: rm it\nEOF\n)"', "awk '{print $1}' x", `echo \${x:-1}`, 'bash run.sh'],
  ])('PM39 do not match %j', (command) => {
    expect(decideAll(command)).toBe('allow')
  })

  test.each([
    ...[
      'find . -exec rm {} +',
      'find . -exec {} x +',
      'xargs -I% % x',
      'ls | xargs -I{} git {}',
      'cat <<E\n$(rm x)\nE',
    ],
    ...["cat <<'E'\nx\nE\nrm x", 'cat <<-E\n\tE\nrm x', 'bash <<<"$x"', 'parallel < f', "python3 -c'1'", "perl -e'1'"],
    ...[
      "node --eval='\n1'",
      'node --import data:x',
      'echo x | python3 -u',
      'env -Srm\\ x',
      "env --split-string='rm x'",
    ],
    ...['BASH_ENV=./s bash -c ls', "GIT_SSH_COMMAND='rm x' git fetch", "alias x='r\\m'", '/usr/lib/git-core/git-push'],
    ...['hash -p /bin/r? x; x f', '/lib64/ld-linux-x86-64.so.2 /bin/r? x', `printf -v "a[$x]" 1`, 'command rm x'],
  ])('PM39 do not let %j pass', (command) => {
    expect(decideAll(command)).not.toBe('allow')
  })
})
