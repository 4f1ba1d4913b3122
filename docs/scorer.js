// How the search of the site ranks pages: those that explain come before those that list.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, , , , score]) => {
    const explain =
      /^(start|why-exact|sparse|lazy|cross-validation|categories|quantiles|explaining|datasets|deployment|conversions|add-a-criterion)$/;
    return explain.test(page) ? score + 8 : score;
  },
};
