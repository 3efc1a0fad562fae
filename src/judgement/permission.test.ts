import { describe, expect, test } from 'vitest'
import { idleRules } from './odd-rules.ts'
import { pathIsAllowed } from './path-rule.ts'
import { judge } from './permission.ts'
import { parseRule } from './rule.ts'

const bash = (subject: string) => ({ tool: 'Bash', subject, acts: true })
const write = (subject: string) => ({ tool: 'Write', subject, acts: true })
const answer = (policy: Parameters<typeof judge>[0][number], call: Parameters<typeof judge>[1]) =>
  judge([policy], call).answer

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
    expect(pathIsAllowed(pattern, path)).toBe(expected)
  })
})

test('PM3 denying wins over asking, asking over allowing, whoever says it', () => {
  const run = { ask: ['Write(src/**)'] }
  const agent = { allow: ['Write'], deny: ['Write(src/secret/**)'] }
  expect(judge([run, agent], write('src/a')).answer).toBe('ask')
  expect(judge([run, agent], write('src/secret/a')).answer).toBe('deny')
  expect(judge([run, agent], write('docs/a')).answer).toBe('allow')
})

test('PM4 a denial says which rule, and what would have been allowed', () => {
  const { reason, allowed } = judge([{ allow: ['Write(src/**)', 'Read'] }], write('docs/a'))
  expect(reason).toContain('Write(src/**)')
  expect(allowed).toEqual(['Write(src/**)'])
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
  expect(idleRules({ allow: ['Bassh(x)', 'Bash(x)'], deny: ['mcp__a'] }, ['Bash', 'mcp__a__b'])).toEqual(['Bassh(x)'])
  expect(() => parseRule('(x)')).toThrow(/not a permission rule/)
})
