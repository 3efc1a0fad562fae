import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readSource, readSources } from '../../support/source-file.ts'

/*
 * Every code block of the three specifications, in the order of the document: the beginning of the title of the test that runs
 * it, or the reason why it cannot run. The documents are not in the repository, so the list stands here.
 */

interface Block {
  section: string
  /** The test that runs it: its title after the id of the rule begins with this. */
  test?: string
  reason?: string
}

const task: Block[] = [
  { section: 'Installing UV', reason: 'installs the package manager of another language' },
  { section: 'Installation', reason: 'installs the package of the document; ours is installed with npm' },
  { section: 'Configuration', test: 'the configuration of the document' },
  { section: 'Spawning New Sub-Sessions', test: 'a new sub-session of %s' },
  { section: 'Spawning New Sub-Sessions, examples', test: 'a new sub-session of %s' },
  { section: 'Resuming Existing Sub-Sessions', test: 'session_id resumes' },
  { section: 'Resuming Existing Sub-Sessions, multi-turn', test: 'three turns of one session' },
  { section: 'Spawn Mode', test: 'a new sub-session of %s' },
  { section: 'Resume Mode', test: 'session_id resumes' },
  { section: 'Input schema', test: 'the schema of the tool' },
  { section: 'Output Format', test: 'a tool call has success and output' },
  { section: 'tool:pre', test: 'tool:pre and tool:post' },
  { section: 'tool:post', test: 'tool:pre and tool:post' },
  { section: 'tool:error', test: 'tool:error has' },
]

const collaborate: Block[] = [
  { section: 'Architecture', test: 'architecture: the main session' },
  { section: 'Tool Contract', test: 'the tool contract' },
  { section: 'Implementation', reason: 'the code of another language; its modes and syntheses are tested below' },
  { section: 'Parallel Mode', test: 'parallel:' },
  { section: 'Sequential Mode', test: 'sequential:' },
  { section: 'Hierarchical Mode', test: 'hierarchical:' },
  { section: 'PR Review with Multiple Perspectives', test: 'a pull request review' },
  { section: 'Architecture Decision with Debate', test: 'an architecture debate' },
  { section: 'Configuration', test: 'the configuration of the document' },
]

const team: Block[] = [
  { section: '1.1', test: '1.1 team structure' },
  { section: '1.2', test: '1.2 sequential collaboration' },
  { section: '1.2', test: '1.2 iterative collaboration' },
  { section: '1.2', test: '1.2 parallel collaboration' },
  { section: '1.2', test: '1.2 consensus collaboration' },
  { section: '2.2', test: '2.2 routing' },
  { section: '2.3', test: '2.3 context transfer' },
  { section: '3.2', test: '3.2 handoff structure' },
  { section: '3.3', test: '3.3 simple completion' },
  { section: '3.3', test: '3.3 quality-based' },
  { section: '3.3', test: '3.3 context-aware' },
  { section: '3.3', test: '3.3 multi-condition' },
  { section: '3.4', test: '3.4 after-work behavior' },
  { section: '4.1', test: '4.1 basic message flow' },
  { section: '4.2', test: '4.2 conversation history' },
  { section: '4.3', test: '4.3 context variables' },
  { section: '5.1', test: '5.1 multi-stage workflows' },
  { section: '5.2', test: '5.2 conditional branching' },
  { section: '5.3', test: '5.3 quality gates' },
  { section: '6.1', test: '6.1 load balancing' },
  { section: '6.1', test: '6.1 expertise matching' },
  { section: '6.2', test: '6.2 synchronization points' },
  { section: '6.2', test: '6.2 dependency management' },
  { section: '7.1', test: '7.1 error detection' },
  { section: '7.1', test: '7.1 recovery strategies' },
  { section: '7.2', test: '7.2 continuous quality checks' },
]

const FOLDER = 'test/e2e/specifications'

/** The titles of the tests in these files, without the id of the rule. */
function testTitles(isAudit: (file: string) => boolean): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.test.ts') && file !== 'coverage.test.ts' && isAudit(file))
    .flatMap((file) => [...readSource(`${FOLDER}/${file}`).matchAll(/^\s*(?:test\(|\]\)\()['"]([^'"]*)/gm)])
    .map(([, title = '']) => title.replace(/^[A-Z0-9]+ /, ''))
}

describe('every code block of the specifications is run by a test, or has a reason why not', () => {
  test.each([
    ['003', task, 14, 2, 'task-'],
    ['000', collaborate, 9, 1, 'collaborate-'],
    ['001', team, 26, 0, 'team'],
  ])('%s', (_document, blocks, count, without, prefix) => {
    expect(blocks).toHaveLength(count)
    expect(blocks.filter(({ reason }) => reason !== undefined)).toHaveLength(without)
    const titles = testTitles((file) => file.startsWith(prefix))
    const missing = blocks.filter(
      ({ test: title, reason }) => reason === undefined && !titles.some((found) => title && found.startsWith(title)),
    )
    expect(missing).toEqual([])
  })
})

test('every team file is run by a test', () => {
  const tests = readSources(FOLDER, '.test.ts').map(({ source }) => source)
  const unused = readdirSync(`${FOLDER}/team`).filter(
    (file) => !tests.some((source) => source.includes(`'${file.replace(/\.yaml$/, '')}'`)),
  )
  expect(unused).toEqual([])
})
