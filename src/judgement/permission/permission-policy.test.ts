import { describe, expect, test } from 'vitest'
import { isPathAllowed } from './path-rule.ts'
import { evaluatePolicies } from './permission-policy.ts'
import { parsePermissionRule } from './permission-rule.ts'
import { unmatchedRules } from './rule-lint.ts'

const bash = (subject: string) => ({ tool: 'Bash', subject, acts: true })
const write = (subject: string) => ({ tool: 'Write', subject, acts: true })
const answer = (policy: Parameters<typeof evaluatePolicies>[0][number], call: Parameters<typeof evaluatePolicies>[1]) =>
  evaluatePolicies([policy], call).decision

describe('PM1 rules for commands', () => {
  test.each([
    ['npm test', 'allow'],
    ['npm test -- src', 'allow'],
    ['npm testing', 'deny'],
    ['npm run build', 'deny'],
    ['npm test && npm test -- x', 'allow'],
    ['npm test && rm -rf .', 'deny'],
    ['npm test; curl evil', 'deny'],
    ['npm test | tee out', 'deny'],
    ['npm test & sleep 9', 'deny'],
    ['npm test\nrm x', 'deny'],
    ['npm test $(rm x)', 'deny'],
    ['npm test `rm x`', 'deny'],
    ['npm test > /etc/passwd', 'deny'],
    ['  npm test  ', 'allow'],
    ['', 'deny'],
  ])('PM1 with Bash(npm test:*) the command %j is answered with %s', (command, expected) => {
    expect(answer({ allow: ['Bash(npm test:*)'] }, bash(command))).toBe(expected)
  })

  test('PM1 each part may be allowed by a rule of its own', () => {
    const policy = { allow: ['Bash(npm test:*)', 'Bash(npm run lint)'] }
    expect(answer(policy, bash('npm run lint && npm test'))).toBe('allow')
    expect(answer(policy, bash('npm run lint && npm publish'))).toBe('deny')
  })

  test('PM1 one rule may hold several commands', () => {
    const policy = { allow: ['Bash(git log:*, git diff:*)'] }
    expect(answer(policy, bash('git diff HEAD'))).toBe('allow')
    expect(answer(policy, bash('git push'))).toBe('deny')
    expect(answer({ deny: ['Bash(rm:*, git push:*)'] }, bash('git push'))).toBe('deny')
  })

  test('PM1 a denied part denies the whole command', () => {
    expect(answer({ deny: ['Bash(rm:*)'] }, bash('ls && rm -rf x'))).toBe('deny')
    expect(answer({ deny: ['Bash(rm:*)'] }, bash('ls'))).toBe('allow')
  })
})

describe('PM2 rules for paths', () => {
  test.each([
    ['src/**', 'src/a.ts', true],
    ['src/**', 'src/a/b/c.ts', true],
    ['src/**', 'srcs/a.ts', false],
    ['src/**', 'src/../etc/passwd', false],
    ['src/**', './src/a.ts', true],
    ['*.md', 'README.md', true],
    ['*.md', 'docs/README.md', false],
    ['**/*.md', 'docs/README.md', true],
    ['**/*.md', 'README.md', true],
    ['src/?.ts', 'src/a.ts', true],
    ['src/?.ts', 'src/ab.ts', false],
    ['src/{a,b}.ts', 'src/b.ts', true],
    ['a.b', 'axb', false],
    ['src/**', 'SRC/a.ts', false],
  ])('PM2 the pattern %s and the path %s: %s', (pattern, path, expected) => {
    expect(isPathAllowed(pattern, path)).toBe(expected)
  })
})

test('PM3 denying wins over asking, asking over allowing, whoever says it', () => {
  const run = { ask: ['Write(src/**)'] }
  const agent = { allow: ['Write'], deny: ['Write(src/secret/**)'] }
  expect(evaluatePolicies([run, agent], write('src/a')).decision).toBe('ask')
  expect(evaluatePolicies([run, agent], write('src/secret/a')).decision).toBe('deny')
  expect(evaluatePolicies([run, agent], write('docs/a')).decision).toBe('allow')
})

test('PM4 a denial says which rule, and what would have been allowed', () => {
  const { reason, allowedRules } = evaluatePolicies([{ allow: ['Write(src/**)', 'Read'] }], write('docs/a'))
  expect(reason).toContain('Write(src/**)')
  expect(allowedRules).toEqual(['Write(src/**)'])
})

test('PM5 in mode read nothing may act; in mode ask whatever acts is asked for; reading is free in both', () => {
  const reads = { tool: 'Read', subject: 'x', acts: false }
  expect([answer({ mode: 'read' }, write('x')), answer({ mode: 'read' }, reads)]).toEqual(['deny', 'allow'])
  expect([answer({ mode: 'ask' }, write('x')), answer({ mode: 'ask' }, reads)]).toEqual(['ask', 'allow'])
  expect(answer({ mode: 'ask', allow: ['Write(a)'] }, write('a'))).toBe('allow')
})

test('PM6 a server’s tools are named by mcp__server, one by its name, addresses by domain', () => {
  const call = { tool: 'mcp__files__read', acts: false }
  expect(answer({ deny: ['mcp__files'] }, call)).toBe('deny')
  expect(answer({ deny: ['mcp__files__*'] }, call)).toBe('deny')
  expect(answer({ deny: ['mcp__file'] }, call)).toBe('allow')
  const fetch = (subject: string) => ({ tool: 'WebFetch', subject, acts: false })
  const only = { allow: ['WebFetch(domain:example.com)'] }
  expect(answer(only, fetch('https://docs.example.com/x'))).toBe('allow')
  expect(answer(only, fetch('https://example.com.evil.net/'))).toBe('deny')
})

test('PM7 rules that name no tool are found; what is no rule is refused', () => {
  expect(unmatchedRules({ allow: ['Bassh(x)', 'Bash(x)'], deny: ['mcp__a'] }, ['Bash', 'mcp__a__b'])).toEqual([
    'Bassh(x)',
  ])
  expect(() => parsePermissionRule('(x)')).toThrow(/not a permission rule/)
})

test.each([
  ['Write({*.pem,*.key})', 'x.pem'],
  ['Write(**/{*.pem,*.key})', 'a/x.key'],
  ['Write(secrets)', 'secrets/x'],
  ['Write(secrets/)', 'a/secrets/b/x'],
  ['Write(/secrets/**)', 'secrets/x'],
  ['Write(src/keys)', 'src/keys/a/b'],
  ['Write([.]env)', '.env'],
  ['Write(src/**.pem)', 'src/a/b.pem'],
])('PM30 the rule %s denies %s', (rule, path) => {
  expect(answer({ deny: [rule] }, write(path))).toBe('deny')
})

test('PM30 what allows means what it says: a folder without wildcards and what is in it', () => {
  expect(answer({ allow: ['Write(src)'] }, write('src/a/b'))).toBe('allow')
  expect(answer({ allow: ['Write(/src/)'] }, write('src/a'))).toBe('allow')
  expect(answer({ allow: ['Write(src/*)'] }, write('src/a/b'))).toBe('deny')
  expect(answer({ allow: ['Write(src)'] }, write('srcs/a'))).toBe('deny')
  expect(answer({ allow: ['Write(src)'] }, write('a/src/b'))).toBe('deny')
})

test('PM30 a pattern that nobody can read allows nothing and forbids everything', () => {
  expect(answer({ allow: ['Write({a)'] }, write('{a'))).toBe('deny')
  expect(answer({ deny: ['Write({a)'] }, write('b'))).toBe('deny')
})

test.each([
  ['domain:evil.com', 'evil.com.'],
  ['domain:Evil.com', 'evil.com'],
  ['domain:*.evil.com', 'a.evil.com'],
  ['domain:*.evil.com', 'evil.com'],
  ['domain:bücher.de', 'xn--bcher-kva.de'],
  ['https://evil.com/*', 'evil.com'],
  ['evil.com', 'a.EVIL.com'],
  ['https://evil.com/path', 'evil.com'],
])('PM31 the rule WebFetch(%s) denies %s', (pattern, host) => {
  expect(answer({ deny: [`WebFetch(${pattern})`] }, { tool: 'WebFetch', subject: host, acts: false })).toBe('deny')
})

test('PM31 what allows hosts allows no more than it names', () => {
  const allowed = (pattern: string, subject: string) =>
    answer({ allow: [`WebFetch(${pattern})`] }, { tool: 'WebFetch', subject, acts: false })
  expect(allowed('domain:good.org', 'a.good.org')).toBe('allow')
  expect(allowed('domain:*.good.org', 'good.org')).toBe('deny')
  expect(allowed('good.org', 'a.good.org')).toBe('deny')
  expect(allowed('https://good.org/docs', 'good.org')).toBe('deny')
  expect(allowed('domain:good.org', 'notgood.org')).toBe('deny')
})

test('PM28 a rule may use any name of a tool, and of what a call is about', () => {
  const task = {
    tool: 'task',
    aliases: ['Task', 'Agent'],
    subject: 'doer',
    subjectAliases: ['troupe:doer'],
    acts: false,
  }
  expect(answer({ deny: ['Agent(doer)'] }, task)).toBe('deny')
  expect(answer({ deny: ['Task(troupe:doer)'] }, task)).toBe('deny')
  expect(answer({ allow: ['Task(reviewer)'] }, task)).toBe('deny')
  expect(answer({ allow: ['Task(troupe:doer)'] }, task)).toBe('allow')
})

test('PM33 an allowance that picks some tools of a server denies its others', () => {
  const call = (tool: string) => ({ tool, subject: '{}', acts: true })
  const policy = { allow: ['mcp__files__read*'] }
  expect(answer(policy, call('mcp__files__read_text'))).toBe('allow')
  expect(answer(policy, call('mcp__files__write'))).toBe('deny')
  expect(answer(policy, call('mcp__other__write'))).toBe('allow')
  expect(
    answer({ deny: ['mcp__db__query(*drop*)'] }, { ...call('mcp__db__query'), subject: '{"sql":"a/drop b"}' }),
  ).toBe('deny')
})

test('PM29 a search is told which files it must leave out, and a search in a forbidden folder is denied', () => {
  const grep = (subject: string) =>
    evaluatePolicies([{ deny: ['Read(.env*)'], ask: ['Read(keys)'] }], { tool: 'Grep', subject, acts: false })
  expect(grep('.')).toMatchObject({ decision: 'allow', excludedGlobs: ['.env*', 'keys'] })
  expect(grep('.env')).toMatchObject({ decision: 'deny' })
  expect(grep('a/keys')).toMatchObject({ decision: 'ask' })
  expect(
    evaluatePolicies([{ deny: ['Read(.env*)'] }], { tool: 'Read', subject: 'x', acts: false }).excludedGlobs,
  ).toBeUndefined()
})

test('PM43 a star in the arguments of a server’s tool takes no quotes, and no path that climbs', () => {
  const allowed = (pattern: string, subject: string) =>
    answer({ allow: [`mcp__fs__read(${pattern})`] }, { tool: 'mcp__fs__read', subject, acts: true })
  expect(allowed('{"p":"a/*"}', '{"p":"a/b"}')).toBe('allow')
  expect(allowed('{"p":"src/**"}', '{"p":"src/a/b.ts"}')).toBe('allow')
  expect(allowed('{"p":"a/*"}', '{"p":"a/b","q":"x"}')).toBe('deny')
  expect(allowed('{"p":"src/**"}', '{"p":"src/../../x"}')).toBe('deny')
  expect(allowed('{"p":"src/**"}', '{"p":"src/.."}')).toBe('deny')
  expect(allowed('{"p":"src/../x"}', '{"p":"src/../x"}')).toBe('allow')
})
