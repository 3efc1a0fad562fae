/* The lengths to which texts of a timeline are cut, in characters. */

/** Titles of sessions and turns, targets of calls. */
export const TITLE_LENGTH = 80
/** Messages, questions, answers and results. */
export const TEXT_LENGTH = 200
