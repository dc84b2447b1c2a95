/** Words that nearly every English text has; alone they say nothing. */
export const fillerWords = new Set(
  (
    'a about after all also am an and any are as at be because been but by can could did do does for from get had has ' +
    'have he her his how i if in into is it its me more most my no not of on one or our out she should so some than ' +
    'that the their them then there they this to too up us was we were what when where which while who why will with ' +
    'would you your'
  ).split(' '),
)
