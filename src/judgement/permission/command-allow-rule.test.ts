import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findCommandGrants } from './command-allow-rule.ts'
import { evaluatePolicies } from './permission-policy.ts'

const allow = [
  'npm test:*',
  'git diff:*',
  'grep:*',
  'head:*',
  'ls:*',
  'test:*',
  '[:*',
  'printf:*',
  'echo hi',
  './run:*',
]
const evaluate = (subject: string, patterns = allow) =>
  evaluatePolicies([{ allow: patterns.map((pattern) => `Bash(${pattern})`) }], { tool: 'Bash', subject, acts: true })

describe('PM37 syntax that can change the meaning of commands', () => {
  test.each([
    ...[
      'grep () (touch x); grep x',
      'ls () (touch x); ls',
      'grep()(id)\ngrep',
      'ls ( ) { id; }; ls',
      '(ls)',
      '{ ls; }',
    ],
    ...["test -v $'a[\\x24\\x28touch x)]'", "test -v 'a[$(touch x)]'", "[ -v 'a[$(touch x)]' ]", 'test $x', '[ "$x" ]'],
    ...[`printf -v x '\\44\\50id)'`, `printf -v "a[$x]" 1`, "printf -vx '\\44'", 'ls $(id)', 'ls `id`', 'ls <(id)'],
    ...[
      `ls \${x:-y}`,
      `ls \${x@P}`,
      'ls $[1]',
      'ls $((1))',
      "ls <<'E'\nE\nid",
      'ls <<<x',
      'function ls { id; }; ls',
      '$x',
      'ls; $x',
    ],
    ...[
      'ls "unfinished',
      'ls \\',
      'l{s,x}',
      '{ls,x}',
      'npm te?t',
      'npm "test x"',
      '"npm test"',
      'npm $x test',
      '""',
      '# ls',
    ],
  ])('PM37 no pattern allows %j', (command) => {
    expect(evaluate(command).decision).toBe('deny')
  })

  test('PM37 a rule that equals the whole line allows it', () => {
    expect(evaluate('ls > out; $(id)', ['ls > out; $(id)']).decision).toBe('allow')
    expect(evaluate('f() (id); f', ['f() (id); f']).decision).toBe('allow')
  })

  test('PM37 no text before or after a command makes an allow rule for another command match', () => {
    const text = fc.array(
      fc.constantFrom('ls', ' ', '"', "'", '\\', '$', '(', ')', '{', '}', '`', ';', '<', '>', '#', '|', '\n'),
    )
    fc.assert(
      fc.property(text, (chars) => {
        const other = chars.join('')
        // Without quotes, escapes and comments, the last line is a separate command.
        if (/["'\\$`#<]/.test(other)) return
        expect(findCommandGrants(['ls:*'], `${other}\ntouch x`).allowedBy).toBeUndefined()
        expect(findCommandGrants(['ls:*'], `touch x\n${other}`).allowedBy).toBeUndefined()
      }),
      { numRuns: 2000 },
    )
  })
})

describe('PM38 syntax that does not change the effect of a command', () => {
  test.each([
    ...[
      'npm test 2>&1',
      'npm test 2>&1 | head -5',
      'npm test 2>/dev/null',
      'npm test &>/dev/null',
      'npm test >/dev/null 2>&1',
    ],
    ...[
      'npm test </dev/null',
      'CI=1 npm test',
      'NO_COLOR=1 LC_ALL=C npm test',
      'npm  test',
      'npm test;',
      'npm test # run',
    ],
    ...[
      'time npm test',
      'timeout 60 npm test',
      '! npm test',
      'npm test || true',
      'npm test; echo "exit $?"',
      'git --no-pager diff',
    ],
    ...[
      'cd src && npm test',
      'cd a/b; git diff',
      "grep -rn 'a|b' src",
      "grep 'a;b' x",
      'grep "a && b" x',
      "grep 'a<b' x",
      'grep "f(" x',
    ],
    ...['npm test -- "$FILE"', 'ls *.ts', '[ -f x ] && npm test', "'npm' test", 'GIT_PAGER=cat git diff', 'ls {a,b}'],
  ])('PM38 %j is allowed', (command) => {
    expect(evaluate(command).decision).toBe('allow')
  })

  test.each([
    ...[
      'npm test > out.txt',
      'npm test >> /dev/nullx',
      'npm test >&out',
      'npm test 2>&$x',
      'npm test < in',
      'npm test <> /dev/sda',
    ],
    ...[
      'PATH=. npm test',
      'NODE_OPTIONS=-rx npm test',
      'LD_PRELOAD=x npm test',
      'TERM=../x npm test',
      'CI=$x npm test',
      'CI=1',
    ],
    ...[
      'cd .. && npm test',
      'cd / && npm test',
      'cd $x && npm test',
      'cd - && npm test',
      'cd a/../../b && ls',
      'cd src',
      'cd src && ./run',
    ],
    ...[
      'cd src && echo hi | ls',
      'echo x | ls',
      'ls; echo *',
      'ls; echo $HOME',
      'git -c a=b diff',
      'git -C x diff',
      'true',
      'timeout -s 9 5 id',
    ],
  ])('PM38 %j is not allowed', (command) => {
    expect(evaluate(command).decision).toBe('deny')
  })

  test('PM38 a rule that is not open-ended applies in the current folder only', () => {
    expect(evaluate('make check', ['make check']).decision).toBe('allow')
    expect(evaluate('cd src && make check', ['make check']).decision).toBe('deny')
  })

  test('PM38 a denial states the reason', () => {
    expect(evaluate('npm test > out.txt').reason).toMatch(/only .* is allowed; .*redirects to or from 'out.txt'/)
    expect(evaluate('PATH=. npm test').reason).toContain('sets the variable PATH')
    expect(evaluate('npm test $(id)').reason).toContain('substitution')
    expect(evaluate('ls () (id); ls').reason).toContain('defines a function')
    expect(evaluate('(ls)').reason).toContain('parentheses')
    expect(evaluate('npm test && rm -rf x').reason).toContain("'rm -rf x'")
  })
})

test('TO23 a long line is matched against many patterns without blow-up', () => {
  const patterns = Array.from({ length: 50 }, (_, index) => `a${index} * b * c`)
  expect(findCommandGrants(patterns, 'a1 x b x c;'.repeat(9_000)).allowedBy).toEqual(['a1 * b * c'])
  expect(findCommandGrants(patterns, `a1 ${'b '.repeat(45_000)}`).allowedBy).toBeUndefined()
})
