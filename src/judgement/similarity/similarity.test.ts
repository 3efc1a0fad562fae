import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DIFFERENT_PAIRS, EQUIVALENT_PAIRS } from '../../../test/support/statement-pairs.ts'
import { clusterTexts } from './clustering.ts'
import type { ContradictionKind } from './similarity.ts'
import {
  contentStemSet,
  cosineSimilarity,
  diceCoefficient,
  findContradiction,
  isEmbeddingUnreliable,
  normalizeStatement,
} from './similarity.ts'

const words =
  'use not raise lower the a A few Redis redis 30 s ms v2 v3 before after and , . no all only I we should'.split(' ')
const statement = fc.array(fc.constantFrom(...words), { maxLength: 8 }).map((chosen) => chosen.join(' '))

describe('normalizeStatement', () => {
  test.each([
    ['Use Redis.', 'use redis'],
    ['USE   “Redis”!', 'use redis'],
    ['Ｕｓｅ Ｒｅｄｉｓ', 'use redis'],
    ['Use Re\u200Bdis', 'use redis'],
    ['cafe\u0301', 'café'],
    ['I think we should use the Redis', 'use redis'],
    ['My recommendation is to please use Redis', 'use redis'],
    ["Don't deploy", 'do not deploy'],
    ['dont deploy', 'Do not deploy'],
    ["We can't ship", 'we cannot ship'],
    ['Optimise the colour', 'optimize the color'],
    ['wait 30s', 'wait 30 seconds'],
    ['wait 1.5 h', 'wait 90 minutes'],
    ['1,000 requests', '1000 requests'],
    ['10k requests', '10,000 requests'],
    ['80 percent', '80%'],
    ['two replicas', '2 replicas'],
    ['version 2', 'v2'],
    ['take the 1st option', 'take the first option'],
    ['the 10th request', 'the tenth request'],
    ['use Postgres', 'use PostgreSQL'],
    ['Use JWTs', 'use JSON web tokens'],
    ['Require 2FA', 'require two-factor authentication'],
    ['Approved.', 'approve'],
    ['**Use** `Redis`', 'use redis'],
    ['Redis + Postgres', 'Redis and Postgres'],
    ['Overall, use Redis', 'use Redis'],
  ])('VO1 "%s" and "%s" have the same normalised text', (a, b) => {
    expect(normalizeStatement(a)).toBe(normalizeStatement(b))
    expect(findContradiction(a, b)).toBeUndefined()
  })

  test.each([
    ['Option A', 'Option'],
    ['Choose A', 'Choose'],
    ['A over B', 'over B'],
    ['✅', '❌'],
    ['C++', 'C#'],
    ['C', 'C++'],
    ['?', '!'],
    ['>= 5', '<= 5'],
    ['set it to 5', 'set it to -5'],
    ['3.1', '3.10'],
    ['few users', 'a few users'],
    ['not really safe', 'not safe'],
    ['No, use it', 'No use of it'],
    ['overall performance', 'performance'],
    ['well tested', 'tested'],
    ['10 m', '10 min'],
    ['512 kb', '512 kib'],
  ])('VO2 "%s" and "%s" have different normalised texts', (a, b) => {
    expect(normalizeStatement(a)).not.toBe(normalizeStatement(b))
  })

  test('VO1 surrounding blanks and the Unicode form do not change the normalised text', () => {
    fc.assert(
      fc.property(fc.oneof(statement, fc.string({ unit: 'grapheme' })), (text) => {
        expect(normalizeStatement(text)).toBe(normalizeStatement(`  ${text}\n`))
        expect(normalizeStatement(text.normalize('NFD'))).toBe(normalizeStatement(text.normalize('NFC')))
      }),
    )
  })

  test('VO2 a text of punctuation alone is kept, and only a blank text normalises to the empty text', () => {
    expect(normalizeStatement('')).toBe('')
    expect(normalizeStatement(' ')).toBe('')
    expect(normalizeStatement(' ?! ')).toBe('?!')
  })
})

describe('findContradiction', () => {
  const reasons: readonly [ContradictionKind, string, string][] = [
    ['negation', 'Use Redis', 'Do not use Redis'],
    ['negation', 'Use Redis', 'Avoid Redis'],
    ['negation', 'Deploy with tests', 'Deploy without tests'],
    ['negation', 'Use queues rather than polling', 'Use polling rather than queues'],
    ['negation', 'Use Redis, not Memcached', 'Use Memcached, not Redis'],
    ['negation', 'Use A instead of B', 'Use B instead of A'],
    ['negation', 'Ship it', 'Ship it if the review passes'],
    ['negation', 'Ship it if the tests pass', 'Ship it unless the tests pass'],
    ['negation', 'yes', 'no'],
    ['negation', 'do nothing', 'do it'],
    ['negation', 'do nothing', 'leave it as is if it works'],
    ['negation', 'stop using jQuery', 'use jQuery'],
    ['negation', 'do not stop using jQuery', 'remove jQuery'],
    ['opposites', 'stop using jQuery', 'remove React'],
    ['negation', 'deploy today', 'wait until tomorrow'],
    ['negation', "don't deploy today", 'wait until the audit'],
    ['numbers', 'Wait 30 s', 'Wait 300 s'],
    ['numbers', 'Wait 30 s', 'Wait 30 ms'],
    ['numbers', 'Upgrade to v2', 'Upgrade to v3'],
    ['numbers', 'Support IPv4', 'Support IPv6'],
    ['numbers', 'Take the first option', 'Take the second option'],
    ['numbers', 'Wait', 'Wait 30 s'],
    ['opposites', 'Increase the timeout', 'Decrease the timeout'],
    ['opposites', 'Enable caching', 'Disable caching'],
    ['opposites', 'adding an index', 'removing an index'],
    ['opposites', 'Test before the release', 'Test after the release'],
    ['opposites', 'Migrate to MySQL', 'Migrate from MySQL'],
    ['opposites', 'Ask Ada Lovelace', 'Ask Alan Turing'],
    ['opposites', 'France or Germany', 'Italy and Spain'],
    ['opposites', 'A or B', 'C and D'],
    ['opposites', 'Lock the account', 'Unlock the account'],
    ['opposites', 'use postgres', 'use mysql'],
    ['opposites', 'Use Foo for this', 'Use Bar for this'],
    ['opposites', 'Raise the timeout and lower the limit', 'Lower the timeout and raise the limit'],
  ]
  test.each(reasons)('VO3 the contradiction "%s" is found between "%s" and "%s"', (reason, a, b) => {
    expect(findContradiction(a, b)).toBe(reason)
    expect(findContradiction(b, a)).toBe(reason)
  })

  test.each([
    ['Run the migrations before deploying', 'Deploy after running the migrations'],
    ['Before deploying, run the migrations', 'Run the migrations before deploying'],
    ['Encrypt the data at rest', 'Data at rest should be encrypted'],
    ['Never log personal data', 'Personal data must not be logged'],
    ['Add tests and fix the bug', 'Fix the bug and add tests'],
    ['In production, enable caching', 'Enable caching in production'],
    ['Use Redis instead of Memcached', 'Use Redis, not Memcached'],
    ['Do not deploy on Fridays', 'Never deploy on a Friday'],
    ['Hire one engineer', 'Hire 1 engineer'],
    ['do nothing', 'leave it as is'],
    ['stop using jQuery', 'remove jQuery'],
    ["Don't deploy today", 'wait until tomorrow'],
    ['Take the 1st option', 'Choose the first option'],
    ['Move The Whole Service To Rust Now', 'Rewrite The Entire Backend In Rust Today'],
  ])('VO3 no contradiction is found between "%s" and "%s"', (a, b) => {
    expect(findContradiction(a, b)).toBeUndefined()
  })

  test('VO3 findContradiction, isEmbeddingUnreliable and diceCoefficient are symmetric', () => {
    fc.assert(
      fc.property(statement, statement, (a, b) => {
        expect(findContradiction(a, b)).toBe(findContradiction(b, a))
        expect(isEmbeddingUnreliable(a, b)).toBe(isEmbeddingUnreliable(b, a))
        expect(diceCoefficient(contentStemSet(a), contentStemSet(b))).toBe(
          diceCoefficient(contentStemSet(b), contentStemSet(a)),
        )
      }),
      { numRuns: 2000 },
    )
    for (const [a, b] of [...EQUIVALENT_PAIRS, ...DIFFERENT_PAIRS]) {
      expect([findContradiction(a, b), isEmbeddingUnreliable(a, b)], `${a} | ${b}`).toEqual([
        findContradiction(b, a),
        isEmbeddingUnreliable(b, a),
      ])
    }
  })

  test('VO2 statements that mean different things never have the same normalised text', () => {
    expect(DIFFERENT_PAIRS.filter(([a, b]) => normalizeStatement(a) === normalizeStatement(b))).toEqual([])
  })

  test('VO3 very long texts and invalid Unicode are compared quickly', () => {
    const huge = 'use redis and not 30 s '.repeat(5000)
    expect(findContradiction(huge, `${huge} never`)).toBe('negation')
    expect(findContradiction('', '\ud800')).toBeUndefined()
    for (const part of ['a over b to c from d ', '1,', '1a', 'Name ', '7 s ', "'s", '- ', 'x']) {
      const hostile = `${part.repeat(30_000)}_1`
      expect(findContradiction(hostile, `${hostile} too`)).toBe(findContradiction(`${hostile} too`, hostile))
    }
  })
})

describe('isEmbeddingUnreliable', () => {
  test.each([
    ['one word is replaced', 'Encrypt the database', 'Encrypt the backups'],
    ['one word is added', 'Release it to users', 'Release it to internal users'],
    ['a phrase is added', 'Approve', 'Approve, pending legal review'],
    ['one word is replaced by two', 'Use the newest version', 'Use the oldest supported version'],
    ['most words are shared', 'Store dates in UTC', 'Store dates in local time'],
    ['the quantifier differs', 'It works most of the time', 'It works all of the time'],
    ['the same words are related differently', 'Approve with changes', 'Approve the change'],
    ['only one has a preposition', 'Delete from the backup', 'Delete the backup'],
    ['the prepositions differ', 'Deploy with approval', 'Deploy for approval'],
    ['a word is a preposition or an adjective', 'Approve pending review', 'Approve the pending review'],
    ['the script is unknown to the model', '增加超时时间', '减少超时时间'],
    ['the text is longer than the embedder reads', `Use it ${'so that it is good '.repeat(50)}`, 'Use it'],
  ])('VO4 %s: "%s" and "%s"', (_, a, b) => {
    expect(isEmbeddingUnreliable(a, b)).toBe(true)
  })

  test.each([
    ['Prefer A over B', 'Prefer B over A'],
    ['The gateway calls the worker', 'The worker calls the gateway'],
    ['Keep Berlin and close Paris', 'Keep Paris and close Berlin'],
    ['On Monday the team ships the release', 'The team ships the release on Monday'],
    ['Copy the files to the server from the laptop', 'From the server copy the files to the laptop'],
  ])('VO31 rearranged words are unclear: "%s" and "%s"', (a, b) => {
    expect(findContradiction(a, b)).toBeUndefined()
    expect(clusterTexts([a, b], { similarity: () => 1 })).toEqual({ groups: [[0], [1]], unclear: [[0, 1]] })
    expect(clusterTexts([a, b], { verdicts: [{ a: 0, b: 1, same: true }] }).groups).toEqual([[0, 1]])
  })

  test.each([
    ['redis or memcached', 'redis and memcached'],
    ['use redis or memcached', 'use postgres and kafka'],
    ['john smith', 'mary jones'],
  ])('VO31 embeddings alone never merge "%s" and "%s"', (a, b) => {
    expect(clusterTexts([a, b], { similarity: () => 1 }).groups).toEqual([[0], [1]])
  })

  test('VO4 embeddings are reliable for the same words, synonyms and complete paraphrases', () => {
    expect(isEmbeddingUnreliable('Hash passwords with bcrypt', 'Use bcrypt to hash passwords')).toBe(false)
    expect(isEmbeddingUnreliable('Raise the timeout', 'Increase the timeout')).toBe(false)
    expect(isEmbeddingUnreliable('Add an index on the email column', 'Create an index for the email column')).toBe(
      false,
    )
    expect(isEmbeddingUnreliable('Use Redis instead of Memcached', 'Use Redis, not Memcached')).toBe(false)
    expect(isEmbeddingUnreliable('Offer the customer a refund', 'Give the customer their money back')).toBe(false)
  })
})

describe('cosineSimilarity', () => {
  test('it is 1 for the same direction, 0 for a right angle and -1 for the opposite', () => {
    expect(cosineSimilarity([1, 2], [2, 4])).toBeCloseTo(1, 12)
    expect(cosineSimilarity([1, 0], [0, 3])).toBe(0)
    expect(cosineSimilarity(new Float32Array([1, 1]), [-1, -1])).toBeCloseTo(-1, 12)
  })

  test('it is 0 for vectors that cannot be compared', () => {
    for (const [a, b] of [
      [[], []],
      [
        [0, 0],
        [1, 1],
      ],
      [[1], [1, 1]],
      [[Number.NaN], [1]],
      [[Number.POSITIVE_INFINITY], [1]],
    ] as const) {
      expect(cosineSimilarity(a, b)).toBe(0)
    }
  })

  test('VO27 two refusals do not contradict each other; a plain yes contradicts a refusal', () => {
    for (const [one, other] of [
      ['reject the PR', 'do not approve the PR'],
      ['no', 'reject it'],
      ['wait', 'hold off'],
      ['Postpone the release', "Don't ship the release"],
    ] as const) {
      expect(findContradiction(one, other)).toBeUndefined()
      expect(isEmbeddingUnreliable(one, other)).toBe(true)
    }
    for (const [one, other] of [
      ['go ahead', 'wait'],
      ['yes, ship it', 'do not ship it'],
      ['approve', 'hold off'],
      ['postpone the Monday release', 'do not release on Tuesday'],
      ['do not approve 2 of them', 'reject 3 of them'],
      ['yes, reject it', 'no'],
    ] as const) {
      expect(findContradiction(one, other)).toBeDefined()
      expect(findContradiction(other, one)).toBeDefined()
    }
  })
})
