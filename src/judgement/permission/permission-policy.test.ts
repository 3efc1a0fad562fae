import { describe, expect, test } from 'vitest'
import { isPathAllowed } from './path-rule.ts'
import type { CheckedCall, Policy } from './permission-policy.ts'
import { evaluatePolicies } from './permission-policy.ts'
import { parsePermissionRule } from './permission-rule.ts'
import { unmatchedRules } from './rule-lint.ts'

const bash = (subject: string) => ({ tool: 'Bash', subject, acts: true })
const write = (subject: string) => ({ tool: 'Write', subject, acts: true })
const decide = (policy: Policy, call: CheckedCall) => evaluatePolicies([policy], call).decision

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
  ])('PM1 with Bash(npm test:*) the decision for %j is %s', (command, expected) => {
    expect(decide({ allow: ['Bash(npm test:*)'] }, bash(command))).toBe(expected)
  })

  test('PM1 different rules may allow the commands of one line', () => {
    const policy = { allow: ['Bash(npm test:*)', 'Bash(npm run lint)'] }
    expect(decide(policy, bash('npm run lint && npm test'))).toBe('allow')
    expect(decide(policy, bash('npm run lint && npm publish'))).toBe('deny')
  })

  test('PM1 one rule may list several commands', () => {
    const policy = { allow: ['Bash(git log:*, git diff:*)'] }
    expect(decide(policy, bash('git diff HEAD'))).toBe('allow')
    expect(decide(policy, bash('git push'))).toBe('deny')
    expect(decide({ deny: ['Bash(rm:*, git push:*)'] }, bash('git push'))).toBe('deny')
  })

  test('PM1 a denied command denies the whole line', () => {
    expect(decide({ deny: ['Bash(rm:*)'] }, bash('ls && rm -rf x'))).toBe('deny')
    expect(decide({ deny: ['Bash(rm:*)'] }, bash('ls'))).toBe('allow')
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
  ])('PM2 matching the pattern %s against the path %s gives %s', (pattern, path, expected) => {
    expect(isPathAllowed(pattern, path)).toBe(expected)
  })
})

test('PM3 deny rules win over ask rules, and ask rules over allow rules, in whichever policy they are', () => {
  const run = { ask: ['Write(src/**)'] }
  const agent = { allow: ['Write'], deny: ['Write(src/secret/**)'] }
  expect(evaluatePolicies([run, agent], write('src/a')).decision).toBe('ask')
  expect(evaluatePolicies([run, agent], write('src/secret/a')).decision).toBe('deny')
  expect(evaluatePolicies([run, agent], write('docs/a')).decision).toBe('allow')
})

test('PM4 a denial names the rule and lists the allowed rules', () => {
  const { reason, allowedRules } = evaluatePolicies([{ allow: ['Write(src/**)', 'Read'] }], write('docs/a'))
  expect(reason).toContain('Write(src/**)')
  expect(allowedRules).toEqual(['Write(src/**)'])
})

test('PM5 mode read denies actions, mode ask asks before them, and both allow reading', () => {
  const reads = { tool: 'Read', subject: 'x', acts: false }
  expect([decide({ mode: 'read' }, write('x')), decide({ mode: 'read' }, reads)]).toEqual(['deny', 'allow'])
  expect([decide({ mode: 'ask' }, write('x')), decide({ mode: 'ask' }, reads)]).toEqual(['ask', 'allow'])
  expect(decide({ mode: 'ask', allow: ['Write(a)'] }, write('a'))).toBe('allow')
})

test('PM6 mcp__server matches all tools of an MCP server, and domain: matches hosts', () => {
  const call = { tool: 'mcp__files__read', acts: false }
  expect(decide({ deny: ['mcp__files'] }, call)).toBe('deny')
  expect(decide({ deny: ['mcp__files__*'] }, call)).toBe('deny')
  expect(decide({ deny: ['mcp__file'] }, call)).toBe('allow')
  const fetch = (subject: string) => ({ tool: 'WebFetch', subject, acts: false })
  const only = { allow: ['WebFetch(domain:example.com)'] }
  expect(decide(only, fetch('https://docs.example.com/x'))).toBe('allow')
  expect(decide(only, fetch('https://example.com.evil.net/'))).toBe('deny')
})

test('PM7 rules for unknown tools are reported, and a malformed rule throws invalid_input', () => {
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
  expect(decide({ deny: [rule] }, write(path))).toBe('deny')
})

test('PM30 an allow pattern without wildcards matches that path and the contents of that folder', () => {
  expect(decide({ allow: ['Write(src)'] }, write('src/a/b'))).toBe('allow')
  expect(decide({ allow: ['Write(/src/)'] }, write('src/a'))).toBe('allow')
  expect(decide({ allow: ['Write(src/*)'] }, write('src/a/b'))).toBe('deny')
  expect(decide({ allow: ['Write(src)'] }, write('srcs/a'))).toBe('deny')
  expect(decide({ allow: ['Write(src)'] }, write('a/src/b'))).toBe('deny')
})

test('PM30 an invalid pattern allows nothing and denies everything', () => {
  expect(decide({ allow: ['Write({a)'] }, write('{a'))).toBe('deny')
  expect(decide({ deny: ['Write({a)'] }, write('b'))).toBe('deny')
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
  expect(decide({ deny: [`WebFetch(${pattern})`] }, { tool: 'WebFetch', subject: host, acts: false })).toBe('deny')
})

test('PM31 an allow rule for a host matches only that host, or its subdomains with domain:', () => {
  const allowed = (pattern: string, subject: string) =>
    decide({ allow: [`WebFetch(${pattern})`] }, { tool: 'WebFetch', subject, acts: false })
  expect(allowed('domain:good.org', 'a.good.org')).toBe('allow')
  expect(allowed('domain:*.good.org', 'good.org')).toBe('deny')
  expect(allowed('good.org', 'a.good.org')).toBe('deny')
  expect(allowed('https://good.org/docs', 'good.org')).toBe('deny')
  expect(allowed('domain:good.org', 'notgood.org')).toBe('deny')
})

test('PM28 a rule may use any alias of a tool and of the subject of a call', () => {
  const task = {
    tool: 'task',
    aliases: ['Task', 'Agent'],
    subject: 'doer',
    subjectAliases: ['troupe:doer'],
    acts: false,
  }
  expect(decide({ deny: ['Agent(doer)'] }, task)).toBe('deny')
  expect(decide({ deny: ['Task(troupe:doer)'] }, task)).toBe('deny')
  expect(decide({ allow: ['Task(reviewer)'] }, task)).toBe('deny')
  expect(decide({ allow: ['Task(troupe:doer)'] }, task)).toBe('allow')
})

test('PM33 an allow rule for some tools of an MCP server denies its other tools', () => {
  const call = (tool: string) => ({ tool, subject: '{}', acts: true })
  const policy = { allow: ['mcp__files__read*'] }
  expect(decide(policy, call('mcp__files__read_text'))).toBe('allow')
  expect(decide(policy, call('mcp__files__write'))).toBe('deny')
  expect(decide(policy, call('mcp__other__write'))).toBe('allow')
  expect(
    decide({ deny: ['mcp__db__query(*drop*)'] }, { ...call('mcp__db__query'), subject: '{"sql":"a/drop b"}' }),
  ).toBe('deny')
})

test('PM29 a search gets the globs of denied files, and a search in a denied folder is denied', () => {
  const grep = (subject: string) =>
    evaluatePolicies([{ deny: ['Read(.env*)'], ask: ['Read(keys)'] }], { tool: 'Grep', subject, acts: false })
  expect(grep('.')).toMatchObject({ decision: 'allow', excludedGlobs: ['.env*', 'keys'] })
  expect(grep('.env')).toMatchObject({ decision: 'deny' })
  const policies = [{ deny: ['Read(.env*)', 'Bash(rm:*)'], ask: ['Grep(x)'] }]
  expect(evaluatePolicies(policies, { tool: 'Bash', subject: 'ls', acts: true }).excludedGlobs).toEqual(['.env*'])
  expect(grep('a/keys')).toMatchObject({ decision: 'ask' })
  expect(
    evaluatePolicies([{ deny: ['Read(.env*)'] }], { tool: 'WebSearch', subject: 'x', acts: false }).excludedGlobs,
  ).toBeUndefined()
})

test('PM43 a star in a pattern for MCP tool arguments matches neither quotes nor a path with ..', () => {
  const allowed = (pattern: string, subject: string) =>
    decide({ allow: [`mcp__fs__read(${pattern})`] }, { tool: 'mcp__fs__read', subject, acts: true })
  expect(allowed('{"p":"a/*"}', '{"p":"a/b"}')).toBe('allow')
  expect(allowed('{"p":"src/**"}', '{"p":"src/a/b.ts"}')).toBe('allow')
  expect(allowed('{"p":"a/*"}', '{"p":"a/b","q":"x"}')).toBe('deny')
  expect(allowed('{"p":"src/**"}', '{"p":"src/../../x"}')).toBe('deny')
  expect(allowed('{"p":"src/**"}', '{"p":"src/.."}')).toBe('deny')
  expect(allowed('{"p":"src/../x"}', '{"p":"src/../x"}')).toBe('allow')
})

test('PM7 a rule with an empty pattern is an error, in every list', () => {
  for (const list of ['allow', 'ask', 'deny'] as const) {
    for (const rule of ['Bash()', 'Bash( )', 'Write()']) {
      const evaluate = () => evaluatePolicies([{ [list]: [rule] }], { tool: 'Bash', subject: 'id', acts: true })
      expect(evaluate, `${list} ${rule}`).toThrow('has an empty pattern')
    }
  }
  const control = evaluatePolicies([{ allow: ['Bash'] }], { tool: 'Bash', subject: 'id', acts: true })
  expect(control.decision).toBe('allow')
})
